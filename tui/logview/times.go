package logview

import (
	"sort"
	"time"
)

// stampLayout has no date and no zone: times are shown in the user's own.
const stampLayout = "15:04:05.000"

// marksMost bounds what is remembered of times: 8 MiB, enough for an hour and a half of a log that never pauses.
const marksMost = 256 << 10

// toggleStamps shows when each line came, or hides it.
func (e *engine) toggleStamps() { e.stamps = !e.stamps }

// loadMarks asks when the bytes came that no mark is known for.
func (e *engine) loadMarks() error {
	if e.marksTo >= e.text.size {
		return nil
	}
	from := int64(0)
	if n := len(e.marks); n > 0 {
		from = e.marks[n-1].Offset + 1
	}
	more, err := e.source.Marks(e.ctx, from)
	if err != nil {
		return err
	}
	e.marks, e.marksTo = append(e.marks, more...), e.text.size
	for len(e.marks) > marksMost { // long logs are told less exactly
		for i := range len(e.marks) / 2 {
			e.marks[i] = e.marks[2*i]
		}
		e.marks = e.marks[:len(e.marks)/2]
	}
	return nil
}

// stampOf returns when the line that begins at off came, "" when nobody wants to see it. The bytes between two marks came
// with the first.
func (e *engine) stampOf(off int64) string {
	if !e.stamps {
		return ""
	}
	i := sort.Search(len(e.marks), func(i int) bool { return e.marks[i].Offset > off })
	if i == 0 {
		return ""
	}
	return e.marks[i-1].At.Local().Format(stampLayout)
}

// gotoTime reads a time of day, nil when it cannot be read.
func gotoTime(where string) command {
	var at time.Time
	var err error
	for _, layout := range []string{"15:04:05", "15:04", time.DateTime} {
		if at, err = time.ParseInLocation(layout, where, time.Local); err == nil {
			break
		}
	}
	if err != nil {
		return nil
	}
	return func(e *engine) {
		if err := e.loadMarks(); err != nil {
			e.failed(err)
			return
		}
		if len(e.marks) == 0 {
			e.notice = "nobody noted when this log was written"
			return
		}
		e.showTime(at)
	}
}

// showTime goes to what came at that time; one without a date is the last such time that the log has reached.
func (e *engine) showTime(at time.Time) {
	last := e.marks[len(e.marks)-1].At.Local()
	if at.Year() == 0 {
		at = time.Date(last.Year(), last.Month(), last.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local)
		if at.After(last) {
			at = at.AddDate(0, 0, -1)
		}
	}
	i := sort.Search(len(e.marks), func(i int) bool { return !e.marks[i].At.Before(at) })
	if i == len(e.marks) {
		e.notice = "the log ends before that"
		e.showEnd()
		return
	}
	start, err := e.text.startOf(e.ctx, min(e.marks[i].Offset, e.text.size-1))
	if err != nil {
		e.failed(err)
		return
	}
	e.stopFollowing()
	e.job, e.top = nil, place{line: start}
}
