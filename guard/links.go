package guard

import "strings"

// links finds images and links whose address would carry data out in its query. Displaying an image
// fetches it automatically. A placeholder in an address asks the model to fill it in.
func (s *scan) links() {
	text := s.layer.text
	for i := 0; ; {
		next := strings.Index(text[i:], "://")
		if next < 0 {
			return
		}
		i += next + len("://")
		image, linked := linkBefore(text[:i])
		if !linked {
			continue
		}
		end := i + addressLength(text[i:])
		query := strings.IndexByte(text[i:end], '?')
		if query < 0 || strings.IndexByte(text[i+query:end], '=') < 0 {
			continue
		}
		switch gap := hasGap(text[i+query : end]); {
		case gap && image:
			s.add("link", "has an image with an address to fill with data, which a viewer sends", warnAt+1, i, end)
		case gap:
			s.add("link", "has a link with an address to fill with data", 3, i, end)
		case image:
			s.add("link", "has an image with data in its address, which a viewer sends", 1, i, end)
		}
	}
}

// linkBefore reports whether the address that begins at the end of text is in an image or a link of
// Markdown or HTML. text includes the scheme.
func linkBefore(text string) (image, linked bool) {
	const scheme, near = len("https://"), 200
	text = text[max(0, len(text)-near):]
	at := max(0, len(text)-scheme)
	before := strings.TrimRight(text[:at+strings.IndexAny(text[at:], "hH:")], " \"'<")
	switch {
	case strings.HasSuffix(before, "]("):
		start := strings.LastIndexByte(before, '[')
		return start > 0 && before[start-1] == '!', true
	case strings.HasSuffix(before, "]:"):
		return false, true
	case strings.HasSuffix(before, "="):
		tag := before[strings.LastIndexByte(before, '<')+1:]
		name := strings.ToLower(tag[:min(len(tag), 3)])
		return name == "img" || name == "ifr" || name == "vid" || name == "lin", true
	}
	return false, false
}

// addressLength returns the length of the address at the start of text; a placeholder in it may
// contain spaces.
func addressLength(text string) int {
	const long = 512
	depth := 0
	for i := range min(len(text), long) {
		switch text[i] {
		case '{', '<', '[':
			depth++
		case '}', '>', ']':
			depth--
		case ')', '"', '\'', ' ', '\n':
			if depth <= 0 || text[i] == '\n' {
				return i
			}
		}
		if depth < 0 {
			return i
		}
	}
	return min(len(text), long)
}

// hasGap reports whether a query contains a placeholder.
func hasGap(query string) bool {
	if strings.ContainsAny(query, "{<[") || strings.Contains(query, "...") || strings.Contains(query, "%7B") || strings.Contains(query, "$") {
		return true
	}
	for _, word := range []string{"=YOUR_", "=DATA", "=SECRET", "=INSERT", "=PASTE", "_HERE", "=CONVERSATION"} {
		if strings.Contains(query, word) {
			return true
		}
	}
	return false
}
