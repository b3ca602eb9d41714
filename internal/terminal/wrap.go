package terminal

import "strings"

// minText is the minimum width of wrapped text, without indentation.
const minText = 20

// Wrap breaks text into lines of at most width cells, including the indentation that it adds to
// each line. It preserves line breaks and the indentation of the text's own lines. It splits a word
// that is too long. It replaces tabs by spaces. The result does not end with a newline. Empty text
// stays empty.
func Wrap(text string, indent, width int) string {
	text = strings.TrimLeft(strings.TrimRight(strings.ReplaceAll(text, "\t", "    "), " \n"), "\n")
	if text == "" {
		return ""
	}
	width = max(width, indent+minText)
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		own := len(line) - len(strings.TrimLeft(line, " "))
		margin := strings.Repeat(" ", min(indent+own, max(indent, width-minText)))
		for _, part := range broken(strings.Fields(line), width-len(margin)) {
			out = append(out, strings.TrimRight(margin+part, " "))
		}
	}
	return strings.Join(out, "\n")
}

// broken arranges words in lines of at most width cells. For no words it returns one empty line.
func broken(words []string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range words {
		for {
			cells := Width(word)
			switch {
			case line == "" && cells > width:
				at := fit(word, width)
				lines, word = append(lines, word[:at]), word[at:]
				continue
			case line == "":
				line, used = word, cells
			case used+1+cells <= width:
				line, used = line+" "+word, used+1+cells
			default:
				lines, line = append(lines, line), ""
				continue
			}
			break
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}
