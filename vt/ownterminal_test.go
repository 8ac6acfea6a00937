package vt_test

import "syscall"

// ownTerminal makes a child's standard input its controlling terminal.
func ownTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
