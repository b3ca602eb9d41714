package injected

// maxHeld is how many bytes are held back at most while it is not known whether
// they are a call. What is longer is text.
const maxHeld = 1 << 20

// none is what source.at returns where nothing comes any more.
const none = -1

// source is text that comes in pieces, for a parser that reads as if all of it
// were there: whoever needs a byte that has not come yet waits for it. So the
// parser cannot see where the pieces end, and its result does not depend on it.
type source struct {
	buf  []byte
	pos  int // of the next byte
	mark int // where what is held back begins
	// ended is whether no more will come.
	ended bool
	// missed is whether a byte was wanted that did not come any more.
	missed bool
	// long is whether too much was held back.
	long bool
	// wait returns when more has come, and false if nothing will.
	wait func() bool
}

// at returns the byte i after the next, or none at the end of the text. What is
// too long to be held back ends there too.
func (s *source) at(i int) int {
	if s.pos+i-s.mark >= maxHeld {
		s.long = true
		return none
	}
	for s.pos+i >= len(s.buf) {
		if s.ended {
			s.missed = true
			return none
		}
		if !s.wait() {
			s.ended = true
		}
	}
	return int(s.buf[s.pos+i])
}

// feed appends a piece, and drops what is done with.
func (s *source) feed(text string) {
	if s.mark > 0 {
		n := copy(s.buf, s.buf[s.mark:])
		s.buf, s.pos, s.mark = s.buf[:n], s.pos-s.mark, 0
	}
	s.buf = append(s.buf, text...)
}

// has reports whether the text goes on with prefix, i bytes from here. It waits
// only while that is open.
func (s *source) has(i int, prefix string) bool {
	for k := range len(prefix) {
		if s.at(i+k) != int(prefix[k]) {
			return false
		}
	}
	return true
}

// skip goes behind prefix, if the text goes on with it.
func (s *source) skip(prefix string) bool {
	if !s.has(0, prefix) {
		return false
	}
	s.pos += len(prefix)
	return true
}

// blank returns how many bytes of white space there are, i bytes from here.
func (s *source) blank(i int) int {
	n := 0
	for isBlank(s.at(i + n)) {
		n++
	}
	return n
}

// skipBlank goes behind white space.
func (s *source) skipBlank() {
	for isBlank(s.at(0)) {
		s.pos++
	}
}

// word returns what stands i bytes from here and can be the name of a tool, as
// models write them; at most 128 bytes.
func (s *source) word(i int) string {
	n := 0
	for n < 128 && isWord(s.at(i+n)) {
		n++
	}
	return string(s.buf[s.pos+i : s.pos+i+n])
}

// until returns what stands before the next of the ends, which are markup, and
// goes there. It reports false if none comes.
func (s *source) until(ends ...string) (string, bool) {
	from := s.pos - s.mark
	for {
		switch c := s.at(0); {
		case c == none:
			return string(s.buf[s.mark+from : s.pos]), false
		case c == '<' || c == '[':
			for _, end := range ends {
				if s.has(0, end) {
					return string(s.buf[s.mark+from : s.pos]), true
				}
			}
		}
		s.pos++
	}
}

// held is the text that is held back, up to here.
func (s *source) held() string { return string(s.buf[s.mark:s.pos]) }

func isBlank(c int) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isLetter(c int) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func isDigit(c int) bool { return '0' <= c && c <= '9' }

func isWord(c int) bool {
	return isLetter(c) || isDigit(c) || c == '.' || c == '-' || c == ':' || c == '/'
}
