package doctor

import (
	"fmt"
	"strings"
	"time"
)

// Bounds of the checks of the machine.
const (
	diskFull  = 64 << 20 // a start needs some 50 MB for the database
	diskLow   = 1 << 30  // and less than 5 % free
	lowShare  = 20       // one part in so many
	clockSlip = time.Minute
)

// earliest is when Corral was first written; no clock of a machine that runs it can be right before.
var earliest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant that Go cannot write

func configuration(c Config) Check {
	const name = "configuration"
	switch {
	case c.Err != nil:
		return failed(name, c.Err)
	case !c.Found:
		return fine(name, "defaults; there is no "+c.Path)
	}
	return fine(name, c.Path)
}

func directories(d Data) Check {
	const name = "directories"
	switch {
	case d.Err != nil:
		return failed(name, d.Err)
	case d.WriteErr != nil:
		return failed(name, d.WriteErr)
	case !d.Exists:
		return fine(name, d.Path+" will be made at the first start")
	}
	return fine(name, d.Path+" is private and writable")
}

func socketLengths(list []Socket) Check {
	const name = "socket paths"
	tightest, room := Socket{}, 1<<30
	for _, s := range list {
		if left := s.Most - len(s.Path); left < room {
			tightest, room = s, left
		}
	}
	if len(list) == 0 {
		return warn(name, "not known, because the places are not", "mend the problem above first")
	}
	says := fmt.Sprintf("%d of %d bytes for %s", len(tightest.Path), tightest.Most, tightest.Path)
	if room < 0 {
		return problem(name, says, "set CR_RUN_DIR to a shorter directory that survives logout")
	}
	return fine(name, says)
}

func disk(d Disk) Check {
	name := d.Name
	if d.Err != nil {
		return warn(name, "the room on the disk of "+d.Path+" is not known: "+d.Err.Error(), "df "+d.Path)
	}
	says := fmt.Sprintf("%s free of %s at %s", size(d.Free), size(d.All), d.Path)
	fix := "free some space there, or set CR_DATA_DIR to another disk"
	switch {
	case d.Free < diskFull:
		return problem(name, says, fix)
	case d.AllInodes > 0 && d.FreeInodes == 0:
		return problem(name, "no file can be made at "+d.Path+": its file system has no inode left", fix)
	case d.Free < diskLow && d.Free < d.All/lowShare:
		return warn(name, says, fix)
	}
	return fine(name, says)
}

func size(n uint64) string {
	const unit = 1024
	value, names := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for ; value >= unit && len(names) > 1; names = names[1:] {
		value /= unit
	}
	if value < 10 && names[0] != "B" {
		return fmt.Sprintf("%.1f %s", value, names[0])
	}
	return fmt.Sprintf("%.0f %s", value, names[0])
}

func term(t Terminal) Check {
	const name = "terminal"
	if t.TermErr == nil {
		return fine(name, "TERM="+t.Term)
	}
	c := failed(name, t.TermErr)
	if !t.Interactive {
		c.Level = Warning // the verbs need none
	}
	return c
}

func locale(t Terminal) Check {
	const name = "locale"
	switch {
	case t.LocaleErr != nil:
		return failed(name, t.LocaleErr)
	case t.Locale == "":
		return fine(name, "none set; UTF-8 is assumed")
	case !strings.Contains(t.Locale, "."):
		return fine(name, t.Locale+" names no character set; UTF-8 is assumed")
	}
	return fine(name, t.Locale)
}

func clock(c Clock) Check {
	const name = "clock"
	now := c.Now.Format("2006-01-02 15:04:05 MST")
	const fix = "timedatectl set-ntp true"
	switch {
	case c.Now.Before(earliest):
		return problem(name, now+" cannot be right", fix)
	case c.Newest.Sub(c.Now) > clockSlip:
		return warn(name, fmt.Sprintf("%s, but Corral wrote a file at %s: the clock went back", now,
			c.Newest.Format("2006-01-02 15:04:05 MST")), fix)
	case !c.Synchronized:
		return fine(name, now+", not known to be synchronized")
	}
	return fine(name, now+", synchronized")
}
