// Package procfs reads what Linux's /proc says about processes, and tells one life of a process from another: a pid is
// reused, a pid with its kernel start time and the boot id is not.
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"corral/runtime/rtapi"
)

// Stat is the part of /proc/<pid>/stat that Corral needs; the numbers in the comments are the fields of proc(5).
type Stat struct {
	State   byte  // 3: R, S, D, T, Z, ...
	PPID    int   // 4
	PGRP    int   // 5
	Session int   // 6
	TPGID   int   // 8: foreground process group of the controlling terminal, -1 without one
	Start   int64 // 22: clock ticks between boot and the start of the process
}

// Gone reports a process that has ended and only waits to be reaped.
func (s Stat) Gone() bool { return s.State == 'Z' || s.State == 'X' }

// ReadStat reads the state of process pid.
func ReadStat(pid int) (Stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, fmt.Errorf("read the state of process %d: %w", pid, err)
	}
	return parseStat(pid, b)
}

// parseStat splits after the last parenthesis: the second field is the program's name, which may hold anything.
func parseStat(pid int, b []byte) (Stat, error) {
	bad := func(why string) (Stat, error) {
		return Stat{}, fmt.Errorf("read the state of process %d: %s", pid, why)
	}
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return bad("no program name in it")
	}
	fields := strings.Fields(string(b[end+1:])) // fields[0] is field 3
	if len(fields) < 20 || len(fields[0]) != 1 {
		return bad("too few fields in it")
	}
	var s Stat
	s.State = fields[0][0]
	for _, want := range []struct {
		field int
		into  *int
	}{{4, &s.PPID}, {5, &s.PGRP}, {6, &s.Session}, {8, &s.TPGID}} {
		n, err := strconv.Atoi(fields[want.field-3])
		if err != nil {
			return bad("field " + strconv.Itoa(want.field) + " is no number")
		}
		*want.into = n
	}
	start, err := strconv.ParseInt(fields[22-3], 10, 64)
	if err != nil {
		return bad("field 22 is no number")
	}
	s.Start = start
	return s, nil
}

// BootID is the kernel's random name of this boot.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// ThisBoot reports whether id may be the name of this boot.
func ThisBoot(id string) bool {
	now, err := BootID()
	return err != nil || now == id
}

// Identify names the present life of process pid.
func Identify(pid int) (rtapi.Incarnation, error) {
	st, err := ReadStat(pid)
	if err != nil {
		return rtapi.Incarnation{}, err
	}
	boot, err := BootID()
	if err != nil {
		return rtapi.Incarnation{}, err
	}
	return rtapi.Incarnation{PID: pid, Start: st.Start, BootID: boot}, nil
}

// Alive reports whether the process that in names still runs. When /proc cannot tell, it says yes: what cannot be
// proven gone must be treated as alive.
func Alive(in rtapi.Incarnation) bool {
	boot, err := BootID()
	if err != nil {
		return true
	}
	if boot != in.BootID {
		return false
	}
	st, err := ReadStat(in.PID)
	// A process that ends between open and read gives ESRCH.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		return true
	}
	return st.Start == in.Start && !st.Gone()
}
