package procfs

import (
	"os"
	"os/exec"
	"testing"
)

func TestStatSurvivesHostileProgramNames(t *testing.T) {
	t.Parallel()
	line := "42 (evil) R 1 2 (x) S 7 8 9 34816 11 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 123 456\n"
	st, err := parseStat(42, []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	want := Stat{State: 'S', PPID: 7, PGRP: 8, Session: 9, TPGID: 11, Start: 98765}
	if st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
	for _, bad := range []string{"", "42 (x", "42 (x) S 1 2", "42 (x) S a 8 9 34816 11 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2"} {
		if _, err := parseStat(42, []byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestAliveTellsLivesApart(t *testing.T) {
	t.Parallel()
	self, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(self) {
		t.Error("this process is said to be gone")
	}
	other := self
	other.Start--
	if Alive(other) {
		t.Error("a former owner of the pid is said to live")
	}
	other = self
	other.BootID = "another"
	if Alive(other) {
		t.Error("a process of another boot is said to live")
	}

	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !Alive(child) {
		t.Error("a living child is said to be gone")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if Alive(child) {
		t.Error("a reaped child is said to live")
	}
}
