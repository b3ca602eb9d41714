package excerpt

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAPageBeginsWhereItIsWanted(t *testing.T) {
	text := strings.Repeat("ä", 500) + "\nNeedle here\n" + strings.Repeat("ß", 500) + "\nneedle there\n" + strings.Repeat("z", 500)
	tests := []struct {
		name         string
		offset, most int
		find         string
		begins, has  string
		fails        bool
	}{
		{"the beginning", 0, 100, "", "ä", "ä", false},
		{"inside of a character", 1, 100, "", "ä", "ä", false},
		{"beyond the end", 99_999, 100, "", "", "", false},
		{"before the beginning", -5, 100, "", "ä", "ä", false},
		{"a word in another case", 0, 200, "NEEDLE", "ä", "Needle here", false},
		{"the next place of a word", 1_020, 200, "needle", "ß", "needle there", false},
		{"a word that is not there", 0, 200, "thimble", "", "", true},
		{"a word that is not there any more", 2_100, 200, "needle", "", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := PageOf(text, test.offset, test.most, test.find)
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			if !utf8.ValidString(p.Text) || !strings.HasPrefix(p.Text, test.begins) || !strings.Contains(p.Text, test.has) || len(p.Text) > test.most {
				t.Errorf("got %q (%d to %d)", p.Text, p.From, p.To)
			}
		})
	}
}

func FuzzPageOf(f *testing.F) {
	f.Add("äöü\nneedle\n", 3, 64, "Needle")
	f.Fuzz(func(t *testing.T, text string, from, most int, find string) {
		text = Clean(text)
		most = max(64, min(most, 1<<20))
		p, err := PageOf(text, from, most, find)
		if err == nil && (p.Text != text[p.From:p.To] || !utf8.ValidString(p.Text) || !p.Last && p.To == p.From) {
			t.Errorf("page %+v", p)
		}
	})
}

func TestAShortPieceIsNotCutWhereALongOneCanBe(t *testing.T) {
	pieces := []string{strings.Repeat("a", 10), strings.Repeat("b", 5_000), strings.Repeat("c", 200), strings.Repeat("d", 9_000)}
	tests := []struct{ bytes, want int }{{100_000, 1 << 40}, {4_210, 2_000}, {10, 80}}
	for _, test := range tests {
		if got := Level(pieces, test.bytes); got != test.want && !(test.want == 1<<40 && got > test.want) {
			t.Errorf("in %d bytes each piece may have %d, want %d", test.bytes, got, test.want)
		}
	}
}
