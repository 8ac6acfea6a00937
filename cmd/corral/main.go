// Command corral keeps terminal sessions alive and shows them in one dashboard. One binary plays every role: without a
// verb it is the dashboard, `corral server` and `corral runtime` are the daemons, and everything else is a command of
// one call to the server's API.
//
// Each verb has a file of its own. What they share is in program.go (finding and starting this Corral), output.go
// (people and JSON), errors.go (sentences and exit codes) and role.go (what all daemons do at their start).
package main

import (
	"log/slog"
	"os"

	"corral/cmd/internal/paths"
	"corral/runtime/hook"
	"corral/runtime/launch"
	"corral/runtime/recorder"
	"corral/runtime/taskrunner"
)

func main() {
	// These run at every start of a session, inside tmux: before anything else is built.
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		os.Exit(launch.Exec(os.Args[2]))
	}
	if len(os.Args) == 4 && os.Args[1] == "handoff" {
		os.Exit(recorder.Handoff(os.Args[2], os.Args[3]))
	}
	if len(os.Args) >= 4 && os.Args[1] == launch.AgentVerb {
		os.Exit(launch.ExecAgent(os.Args[2], self(), os.Args[3:]))
	}
	// And this on every event of an agent, which waits for it.
	if len(os.Args) == 3 && os.Args[1] == "hook" {
		hook.Run(os.Args[2], os.Stdin, paths.Pick(hook.Variables()))
		return
	}
	if len(os.Args) == 3 && os.Args[1] == recorder.CompressVerb {
		os.Exit(recorder.Compress(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == "taskrunner" {
		os.Exit(taskrunner.Run(taskrunner.Config{Dir: os.Args[2], Self: self()}))
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http logs there what a foreign process on our socket says
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// self is the path of this binary.
func self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
