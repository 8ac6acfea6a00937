package canvas

import "corral/vt"

// parseLine stands in for vt.ParseLine until that is there.
func parseLine(s string, cols int) []vt.Cell {
	cells := make([]vt.Cell, cols)
	fillBlank(cells, vt.Style{})
	for i, r := range []rune(s) {
		if i < cols {
			cells[i].Text = string(r)
		}
	}
	return cells
}
