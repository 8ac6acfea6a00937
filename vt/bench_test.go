package vt_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hinshun/vt10x"

	"corral/vt"
)

const (
	benchCols  = 200
	benchRows  = 50
	benchChunk = 16 << 10 // what one read of a PTY or a socket brings
	// benchFrame is how much is written between frames: vt10x by itself takes 3 to 9 ms for it, and the dashboard takes a
	// frame every 4 ms at most.
	benchFrame = 64 << 10
)

// streams returns the kinds of output that benchmarks are made of.
func streams() map[string][]byte {
	var plain, sgr, redraw, uni bytes.Buffer
	for i := range 4000 {
		fmt.Fprintf(&plain, "%6d the quick brown fox jumps over the lazy dog, again and again and again\r\n", i)
		for j := range 12 {
			fmt.Fprintf(&sgr, "\x1b[1;%dm%04d\x1b[m \x1b[38;5;%dmword\x1b[39m ", 31+j%6, i, (i+j)%256)
		}
		sgr.WriteString("\r\n")
		fmt.Fprintf(&uni, "%d 漢字かな交じり文 🙂👍 e\u0301a\u0308 한국어 — “quotes” │├──┤ Привет\r\n", i)
	}
	for n := range 24 {
		redraw.WriteString("\x1b[H")
		for y := range benchRows {
			fmt.Fprintf(&redraw, "\x1b[%d;1H", y+1)
			for x := 0; x < benchCols; x += 10 {
				fmt.Fprintf(&redraw, "\x1b[38;2;%d;%d;%dmabcdefghij", (x+n)%256, y*5, 128)
			}
			redraw.WriteString("\x1b[m\x1b[K")
		}
	}
	return map[string][]byte{"plain": plain.Bytes(), "sgr": sgr.Bytes(), "redraw": redraw.Bytes(), "unicode": uni.Bytes()}
}

// BenchmarkWrite measures a screen of which frames are taken as fast as the dashboard would, against raw vt10x of which
// nothing is read.
func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"plain", "sgr", "redraw", "unicode"} {
		data := streams()[name]
		b.Run(name+"/vt", func(b *testing.B) {
			s := vt.New(benchCols, benchRows)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				next := 0
				for at := 0; at < len(data); at += benchChunk {
					s.Write(data[at:min(at+benchChunk, len(data))])
					if at >= next {
						s.Frame()
						next = at + benchFrame
					}
				}
			}
		})
		b.Run(name+"/vt10x", func(b *testing.B) {
			s := vt10x.New(vt10x.WithSize(benchCols, benchRows))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for at := 0; at < len(data); at += benchChunk {
					s.Write(data[at:min(at+benchChunk, len(data))])
				}
			}
		})
	}
}

func BenchmarkFrame(b *testing.B) {
	key := []byte("x\b")
	s := vt.New(benchCols, benchRows)
	s.Write(streams()["redraw"])
	i := byte(0)
	b.ReportAllocs()
	for b.Loop() {
		key[0] = 'a' + i%26
		i++
		s.Write(key)
		s.Frame()
	}
}

func BenchmarkRender(b *testing.B) {
	for _, name := range []string{"plain", "redraw", "unicode"} {
		s := vt.New(benchCols, benchRows)
		s.Write(streams()[name])
		f := s.Frame()
		b.Run(name+"/changed", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for y := range f.Rows {
					f.Line(y, vt.TrueColor)
				}
			}
		})
		b.Run(name+"/unchanged", func(b *testing.B) {
			r := vt.NewRenderer(vt.TrueColor)
			b.ReportAllocs()
			for b.Loop() {
				f := s.Frame()
				for y := range f.Rows {
					r.Line(f, y)
				}
			}
		})
	}
}

func BenchmarkParseLine(b *testing.B) {
	s := vt.New(benchCols, benchRows)
	s.Write(streams()["redraw"])
	line := s.Frame().Line(0, vt.TrueColor)
	b.ReportAllocs()
	var cells []vt.Cell
	for b.Loop() {
		cells = vt.AppendLine(cells[:0], line, benchCols)
	}
}
