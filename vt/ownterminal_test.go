package vt_test

import "syscall"

// ownTerminal makes a child's standard input its controlling terminal.
func ownTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }

// noCTTY keeps a terminal that is opened from becoming the test's own.
const noCTTY = syscall.O_NOCTTY
