package canvas

import "corral/vt"

// maxLink is the longest address that is passed on. It is the limit that VTE and the hyperlink proposal name
// (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda); longer ones lose their link, never their text.
const maxLink = 2083

// linkMap translates the link ids of one frame to those of a canvas. It remembers the last one, since links come in runs.
type linkMap struct {
	canvas *Canvas
	frame  *vt.Frame

	from, to vt.LinkID
}

func (m *linkMap) resolve(cells []vt.Cell) {
	for i := range cells {
		id := cells[i].Style.Link
		if id == 0 {
			continue
		}
		if id != m.from {
			m.from, m.to = id, m.canvas.linkID(m.frame.Link(id))
		}
		cells[i].Style.Link = m.to
	}
}

// linkID returns the id of an address in c, 0 for one that must not reach a terminal.
func (c *Canvas) linkID(url string) vt.LinkID {
	if !safeLink(url) {
		return 0
	}
	if id, ok := c.linkIDs[url]; ok {
		return id
	}
	c.links = append(c.links, url)
	id := vt.LinkID(len(c.links))
	c.rememberLink(url, id)
	return id
}

func (c *Canvas) rememberLink(url string, id vt.LinkID) {
	if c.linkIDs == nil {
		c.linkIDs = make(map[string]vt.LinkID)
	}
	c.linkIDs[url] = id
}

// safeLink reports whether an address may be written inside OSC 8: printable ASCII only, as RFC 3986 has it, so that it
// can neither end the sequence early nor smuggle another one.
func safeLink(url string) bool {
	if url == "" || len(url) > maxLink {
		return false
	}
	for i := range len(url) {
		if url[i] <= ' ' || url[i] > '~' {
			return false
		}
	}
	return true
}
