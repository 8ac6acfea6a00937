package vt

// ParseCapture turns the output of tmux capture-pane -e into lines of cells. The style carries over from line to line.
func ParseCapture(data []byte) [][]Cell { return nil }

// ParseLine turns one line of text with SGR sequences into exactly cols cells.
func ParseLine(s string, cols int) []Cell { return AppendLine(nil, s, cols) }

// AppendLine is ParseLine into a buffer of the caller.
func AppendLine(dst []Cell, s string, cols int) []Cell { return dst }
