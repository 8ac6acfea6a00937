package main

import (
	"io"
	"log/slog"
	"os"

	"gopkg.in/natefinch/lumberjack.v2"

	"corral/cmd/internal/paths"
)

// The size of a log and how many old ones are kept, so that all logs together stay below 100 MB.
const (
	logMegabytes = 8
	logBackups   = 2
)

// log opens the log of a role. lumberjack makes the file with mode 0600 and rotates it.
func (c *corral) log(role paths.Role) (*slog.Logger, func()) {
	file := &lumberjack.Logger{Filename: c.paths.Log(role), MaxSize: logMegabytes, MaxBackups: logBackups}
	return logger(file, c.config.Log.Level), func() { _ = file.Close() }
}

func logger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})).With("process", os.Getpid())
}
