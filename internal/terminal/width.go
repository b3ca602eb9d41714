package terminal

import (
	"unicode"
	"unicode/utf8"
)

// wide contains the characters that need two cells: characters of East Asian scripts, full-width
// forms and emoji (Unicode TR 11, without the ambiguous ones).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0xa4cf, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1},
		{Lo: 0xf900, Hi: 0xfaff, Stride: 1},
		{Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1},
		{Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1},
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

// Width returns the number of cells that a cleaned line needs in a terminal.
func Width(s string) int {
	cells := 0
	for _, r := range s {
		cells += cellsOf(r)
	}
	return cells
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me) || r == 0xfe0f:
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// fit returns the number of bytes of s that fit in the given number of cells. It includes at least
// one rune.
func fit(s string, cells int) int {
	used := 0
	for i, r := range s {
		used += cellsOf(r)
		if used > cells && i > 0 {
			return i
		}
		if used > cells {
			return utf8.RuneLen(r)
		}
	}
	return len(s)
}
