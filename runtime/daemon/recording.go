package daemon

import "corral/runtime/rtapi"

// setWarning tells the subscribers what keeps the recorder from recording, "" when nothing does any more.
func (inv *inventory) setWarning(text string) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.warning = text
	if !inv.ended {
		inv.publishLocked(rtapi.Event{Type: rtapi.EventRecording, Warning: text})
	}
}

func (inv *inventory) recordingWarning() string {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.warning
}

// tellEnds tells of every program that has ended, again: a recorder that died may not have recorded it.
func (inv *inventory) tellEnds(tell func(id string, code, signal *int)) {
	inv.mu.Lock()
	known := inv.known.Terminals
	inv.mu.Unlock()
	for _, t := range known {
		if t.Dead {
			tell(t.ID, t.ExitCode, t.Signal)
		}
	}
}
