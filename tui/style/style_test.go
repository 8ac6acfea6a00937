package style_test

import (
	"strings"
	"testing"

	"corral/tui/style"
)

func TestNoColorSetsNoColor(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.None)
	for tone := style.Plain; tone <= style.Busy; tone++ {
		if got := theme.Tone(tone).Render("x"); strings.Contains(got, "38;") || strings.Contains(got, "48;") {
			t.Errorf("tone %d: %q has a colour", tone, got)
		}
	}
	if got := theme.Selected.Render("x"); !strings.Contains(got, "7") {
		t.Errorf("selection without colours is %q, want reverse video", got)
	}
	if got := theme.Tone(style.Strong).Render("x"); !strings.Contains(got, "1m") {
		t.Errorf("strong text without colours is %q, want bold", got)
	}
}

func TestBasicUsesTheUsersPalette(t *testing.T) {
	t.Parallel()
	theme := style.New(false, style.Basic)
	for tone := style.Plain; tone <= style.Busy; tone++ {
		if got := theme.Tone(tone).Render("x"); strings.Contains(got, "38;2") {
			t.Errorf("tone %d: %q is not one of 16 colours", tone, got)
		}
	}
}

func TestDarkAndLightDiffer(t *testing.T) {
	t.Parallel()
	dark, light := style.New(true, style.Full), style.New(false, style.Full)
	for tone := style.Muted; tone <= style.Busy; tone++ {
		if tone == style.Strong {
			continue
		}
		if dark.Tone(tone).Render("x") == light.Tone(tone).Render("x") {
			t.Errorf("tone %d is the same on dark and light", tone)
		}
	}
}

func TestUnknownToneIsPlain(t *testing.T) {
	t.Parallel()
	theme := style.New(true, style.Full)
	if got := theme.Tone(style.Tone(99)).Render("x"); got != "x" {
		t.Errorf("unknown tone renders %q", got)
	}
}
