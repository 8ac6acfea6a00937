package canvas

import "corral/vt"

// Wrap cuts the cells of a line into rows at most w wide and returns where each ends. There is always one row, and no wide
// cluster is cut in two unless a row has no room for it.
func Wrap(cells []vt.Cell, w int) []int {
	var ends []int
	for at := 0; at+w < len(cells); {
		end := at + w
		if cells[end].Width == 0 && w > 1 {
			end--
		}
		ends = append(ends, end)
		at = end
	}
	return append(ends, len(cells))
}
