package vt

import "unicode/utf8"

// A cell of vt10x holds one rune and two colours of 24 bits. More fits in by naming it: runes from firstCode on stand
// for clusters of a table, and the foreground colour is the number of a whole Style. Plane 16 is private use and hardly
// used; plane 15 stays untouched, for there live the icons of Nerd Fonts.
const (
	firstCode  = 0x100000
	filler     = 0x10fffd // the second cell of a wide cluster
	maxCodes   = filler - firstCode
	maxStyleID = 1<<24 - 1
	plainStyle = 0 // the number of the default style
)

// cluster is the text of a cell and its width.
type cluster struct {
	text  string
	width uint8
}

// intern numbers clusters and styles. Numbers that no cell uses any more are given out again after a sweep, which the
// owner of the cells makes whenever full reports true.
type intern struct {
	clusters  []cluster
	codes     map[cluster]uint32
	freeCodes []uint32
	codeLimit int // at how many in use a sweep is due

	styles     []Style
	styleIDs   map[Style]uint32
	freeStyles []uint32
	styleLimit int

	links    map[LinkID]string
	linkIDs  map[string]LinkID
	nextLink LinkID
}

// How many clusters, styles and links may be in use before the first sweep. Later limits follow what was found in use.
const (
	minCodes  = 4096
	minStyles = 16384
	maxLinks  = 4096
)

func newIntern() *intern {
	return &intern{
		codes:      make(map[cluster]uint32),
		codeLimit:  minCodes,
		styles:     []Style{{}},
		styleIDs:   map[Style]uint32{{}: plainStyle},
		styleLimit: minStyles,
		links:      make(map[LinkID]string),
		linkIDs:    make(map[string]LinkID),
	}
}

// full reports whether a sweep is due before anything new is numbered.
func (t *intern) full() bool {
	return len(t.codes) >= t.codeLimit || len(t.styleIDs) >= t.styleLimit || len(t.links) >= maxLinks
}

// code returns the rune that stands for a cluster in a cell. When even sweeps leave no room it is the cluster's first
// character alone.
func (t *intern) code(c cluster) rune {
	r, size := utf8.DecodeRuneInString(c.text)
	if size == len(c.text) && r < firstCode {
		return r
	}
	if id, ok := t.codes[c]; ok {
		return firstCode + rune(id)
	}
	var id uint32
	switch n := len(t.freeCodes); {
	case n > 0:
		id, t.freeCodes = t.freeCodes[n-1], t.freeCodes[:n-1]
		t.clusters[id] = c
	case len(t.clusters) < maxCodes:
		id = uint32(len(t.clusters))
		t.clusters = append(t.clusters, c)
	case r >= firstCode:
		return utf8.RuneError
	default:
		return r
	}
	t.codes[c] = id
	return firstCode + rune(id)
}

// cluster returns what a rune in a cell stands for; ok is false when it stands for itself.
func (t *intern) cluster(r rune) (c cluster, ok bool) {
	if r < firstCode || r >= filler {
		return cluster{}, false
	}
	return t.clusters[r-firstCode], true
}

// style returns the number of a style, the default's when there is no room.
func (t *intern) style(s Style) uint32 {
	if id, ok := t.styleIDs[s]; ok {
		return id
	}
	var id uint32
	switch n := len(t.freeStyles); {
	case n > 0:
		id, t.freeStyles = t.freeStyles[n-1], t.freeStyles[:n-1]
		t.styles[id] = s
	case len(t.styles) <= maxStyleID:
		id = uint32(len(t.styles))
		t.styles = append(t.styles, s)
	default:
		return plainStyle
	}
	t.styleIDs[s] = id
	return id
}

// link returns the number of an address. Numbers are never given out twice, so that frames of different times can be
// compared; 0 when there are too many links on the screen.
func (t *intern) link(address string) LinkID {
	if id, ok := t.linkIDs[address]; ok {
		return id
	}
	if len(t.links) >= maxLinks {
		return 0
	}
	t.nextLink++
	t.links[t.nextLink] = address
	t.linkIDs[address] = t.nextLink
	return t.nextLink
}

// marks says which numbers are in use.
type marks struct {
	codes  []bool
	styles []bool
	links  map[LinkID]bool
}

// newMarks returns marks for a sweep; the default style is always in use.
func (t *intern) newMarks() *marks {
	m := &marks{
		codes:  make([]bool, len(t.clusters)),
		styles: make([]bool, len(t.styles)),
		links:  make(map[LinkID]bool),
	}
	m.styles[plainStyle] = true
	return m
}

// sweep frees every number that is not marked.
func (t *intern) sweep(m *marks) {
	t.freeCodes = t.freeCodes[:0]
	for id, used := range m.codes {
		if !used {
			delete(t.codes, t.clusters[id])
			t.clusters[id] = cluster{}
			t.freeCodes = append(t.freeCodes, uint32(id))
		}
	}
	t.freeStyles = t.freeStyles[:0]
	for id := len(m.styles) - 1; id >= 0; id-- { // the lowest go first again: they cost the grid least
		if m.styles[id] {
			m.links[t.styles[id].Link] = true
			continue
		}
		delete(t.styleIDs, t.styles[id])
		t.styles[id] = Style{}
		t.freeStyles = append(t.freeStyles, uint32(id))
	}
	t.styleIDs[Style{}] = plainStyle // a freed slot holds a default style too
	for id, address := range t.links {
		if !m.links[id] {
			delete(t.links, id)
			delete(t.linkIDs, address)
		}
	}
	t.codeLimit = min(max(minCodes, 2*len(t.codes)), maxCodes)
	t.styleLimit = max(minStyles, 2*len(t.styleIDs))
}
