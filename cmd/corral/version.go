package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"corral/sessions"
)

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return p.say(map[string]string{"version": version, "api": sessions.APIVersion, "go": runtime.Version()},
				"corral %s, API %s, %s", version, sessions.APIVersion, runtime.Version())
		},
	}
}
