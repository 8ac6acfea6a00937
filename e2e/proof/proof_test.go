package proof

import (
	"slices"
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	t.Parallel()
	got := Named("| a | `TestB`, `TestA` | `Testing` | TestC | `TestB` | not verified yet |")
	if !slices.Equal(got, []string{"TestA", "TestB"}) {
		t.Errorf("%q", got)
	}
}

const ran = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    a_test.go:1: chatter\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"--- PASS: TestGood (0.00s)\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestSkipped"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`

const broke = `go: a word of the go command
{"ImportPath":"r","Action":"build-output","Output":"r.go:1: does not compile\n"}
{"ImportPath":"r","Action":"build-fail"}
{"Action":"output","Package":"q","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"q","Test":"TestBad/sub","Output":"    b_test.go:2: why\n"}
{"Action":"fail","Package":"q","Test":"TestBad/sub"}
{"Action":"fail","Package":"q","Test":"TestBad"}
{"Action":"output","Package":"q","Test":"TestHangs","Output":"panic: it hangs\n"}
{"Action":"pass","Package":"q","Test":"TestTwice"}
{"Action":"output","Package":"q","Output":"FAIL\tq\t0.2s\n"}
{"Action":"fail","Package":"q"}
{"Action":"fail","Package":"s","Test":"TestTwice"}
`

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	passed, ok, err := Report(strings.NewReader(ran), &out)
	if err != nil || !ok || !passed["TestGood"] || passed["TestSkipped"] {
		t.Errorf("%v, %v, %v", passed, ok, err)
	}
	if out.String() != "ok  \tp\t0.1s\n" {
		t.Errorf("it printed %q", out.String())
	}

	out.Reset()
	passed, ok, err = Report(strings.NewReader(broke), &out)
	if err != nil || ok || len(passed) != 0 {
		t.Errorf("%v, %v, %v", passed, ok, err)
	}
	want := "go: a word of the go command\nr.go:1: does not compile\n    b_test.go:2: why\npanic: it hangs\nFAIL\tq\t0.2s\n"
	if out.String() != want {
		t.Errorf("it printed %q", out.String())
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	passed := map[string]bool{"TestGood": true}
	var out strings.Builder
	if ok, err := Judge(&out, "page.md", []string{"TestGood"}, passed); !ok || err != nil || out.String() != "ok  \tpage.md\t1 tests named\n" {
		t.Errorf("%v, %v, %q", ok, err, out.String())
	}
	out.Reset()
	ok, err := Judge(&out, "page.md", []string{"TestGood", "TestGone"}, passed)
	if ok || err != nil || !strings.Contains(out.String(), "TestGone") || !strings.Contains(out.String(), "FAIL\tpage.md") {
		t.Errorf("%v, %v, %q", ok, err, out.String())
	}
}
