package guard

import (
	"regexp"
	"strings"
)

var (
	authorityTag = regexp.MustCompile(`(?i)^(?:<\s*/?\s*(?:important|system|secret|hidden|admin|critical|instructions?|developer|sys|priority|override|assistant)(?:[^a-z<>][^<>]{0,40})?>|</?\s*(?:tool_result|tool_response|tool_output|function_results?|human)\s*>|<\|\s*(?:im_start|im_end|system|assistant|user|end)[^<>]{0,10}\|>|<<\s*sys\s*>>)`)
	authorityTab = regexp.MustCompile(`^\[/?INST\]|(?i)^\[\s*/?\s*(?:system|admin|important instructions?|system (?:prompt|message|override|note|instructions?))\s*\]`)
	heading      = regexp.MustCompile(`(?i)^#{1,6}[ \t]*(?:(?:system|new)[ \t]+(?:prompt|message|override|instructions?)|system[ \t]*(?::|\n|$))`)
	// aboutMarkup matches the words after markup that is only mentioned.
	aboutMarkup = regexp.MustCompile(`(?i)^[` + "`'\"`" + `]?\s+(?:and\s+\S+\s+)?(?:tag|element|block|section|marker|token)s?\b`)
	// option matches the text before a placeholder in a command line, as in --secret <secret>.
	option = regexp.MustCompile(`--[\w-]+[ =]$`)
	// longerName matches names of sections and placeholders that only begin like claims of
	// authority: <important_notes>, <sys_id>.
	longerName = regexp.MustCompile(`(?i)^</?(?:important|critical|priority|instructions?|sys)[_-]\w`)
	// elementName matches lower-case markup that is common in honest documents such as sitemaps and
	// projects.
	elementName = regexp.MustCompile(`^</?(?:secret|hidden|admin|critical|developer|sys|priority|override)\b`)
)

// marks finds markup that claims authority for a text, or that moves part of the text out of sight.
func (s *scan) marks() {
	text := s.layer.text
	s.authority("<", authorityTag, 6)
	s.authority("[", authorityTab, 4)
	s.authority("#", heading, 4)
	s.findRoles()
	if s.at.Part == InResult || s.at.Part == InResource {
		return
	}
	if start := strings.Index(text, "<!--"); start >= 0 {
		s.add("comment", "has a part that only a model reads, such as a comment", 3, start, min(len(text), start+maxExcerpt))
	}
	if at := afterEmptiness(text); at > 0 {
		s.add("emptiness", "has a part that is moved out of sight with white space", 3, at, min(len(text), at+maxExcerpt))
	}
}

// afterEmptiness returns the offset of text after more white space than any layout needs, or 0.
func afterEmptiness(text string) int {
	const wide, high = 60, 12
	spaces, newlines := 0, 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t':
			spaces++
		case '\n', '\r':
			spaces, newlines = 0, newlines+1
		default:
			if spaces >= wide || newlines >= high {
				return i
			}
			spaces, newlines = 0, 0
		}
	}
	return 0
}

// authority finds markup that starts with sign and matches pattern. Its weight in parts that may be
// documents is inDocument, which is less than in a definition or request.
func (s *scan) authority(sign string, pattern *regexp.Regexp, inDocument int) {
	const long, many = 80, 64
	text := s.layer.text
	code := 0
	for i := 0; ; i++ {
		next := strings.Index(text[i:], sign)
		if next < 0 {
			return
		}
		i += next
		piece := text[i:min(len(text), i+long)]
		if !mayHaveAuthority(piece) {
			continue
		}
		at := pattern.FindStringIndex(piece)
		if at == nil {
			continue
		}
		if code < many && s.isCode(i) {
			code++
			continue
		}
		weight := s.weigh(blockAt, inDocument)
		if aboutMarkup.MatchString(text[i+at[1]:min(len(text), i+at[1]+long)]) || option.MatchString(text[max(0, i-long):i]) {
			continue
		}
		if longerName.MatchString(piece) {
			weight = 3
		}
		if weight < blockAt && elementName.MatchString(piece) {
			weight = 2
		}
		s.add("authority-tag", "is marked like a system message", weight, i, i+at[1])
		return
	}
}

// mayHaveAuthority reports, quickly, whether the first letter of a piece of markup fits a name with
// authority.
func mayHaveAuthority(piece string) bool {
	const most = 12
	for i := 1; i < min(len(piece), most); i++ {
		if isLetter(piece[i]) {
			return strings.IndexByte("isahcdpounetf", piece[i]|0x20) >= 0
		}
	}
	return false
}

// isCode reports whether the place at i in a document is in a block of code or quoted as code.
func (s *scan) isCode(i int) bool {
	if s.at.Part != InResource && s.at.Part != InResult || s.layer.how != "" {
		return false
	}
	return i > 0 && s.layer.text[i-1] == '`' || strings.Count(s.layer.text[:i], "```")%2 == 1
}

// weigh returns definition for a definition or request, and other for the other parts.
func (s *scan) weigh(definition, other int) int {
	switch s.at.Part {
	case InResult, InResource, InPrompt:
		return other
	}
	return definition
}

// label matches the label of a system message at the start of a line.
var label = regexp.MustCompile(`(?i)^(?:system|developer|administrator)(?: (?:message|prompt|note|notice|alert|override))?[*]*:[* \t]+[^\s*]`)

// findRoles finds text in a tool's output that imitates system messages.
func (s *scan) findRoles() {
	if s.at.Part != InResult && s.at.Part != InResource {
		return
	}
	text := s.layer.text
	const many, near = 64, 10 // number of labels examined, and of words after each
	names := theLanguage().names
	orders := names["must"] | names["ignore"] | names["send"] | names["follow"] | names["you"] | names["model"] | names["now"]
	i, labels, start := 0, 0, 0
	for line := range strings.Lines(text) {
		end := start + len(line)
		said := strings.TrimLeft(line, " \t>*")
		if labels < many && said != "" && strings.IndexByte("sda", said[0]|0x20) >= 0 && label.MatchString(said) {
			labels++
			for ; i < len(s.words) && s.words[i].start < end-len(said); i++ {
			}
			for j := i + 1; j < min(len(s.words), i+near) && s.words[j].end <= end; j++ {
				if s.words[j].ideas&orders != 0 && !s.isCode(start) {
					s.add("authority", "pretends to be a system message", warnAt+1, end-len(said), s.words[j].end)
					return
				}
			}
		}
		start = end
	}
}

var shell = regexp.MustCompile(`(?i)^(?:(?:curl|wget)\b[^|\n]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b|rm\s+-(?:rf|fr|r\s+-f)\s+\S|/dev/tcp/|bash\s+-i\s+>&|nc\s+(?:-\w+\s+)*-e\b|base64\s+(?:-d|--decode)[^|\n]*\|\s*(?:ba|z)?sh\b|powershell[^\n]*\s-e(?:nc|ncodedcommand)\b)`)

// shellSigns lists strings for a quick check: each match of shell begins with one of them.
var shellSigns = []string{"curl", "wget", "rm -", "/dev/tcp", "bash -i", "nc -", "base64 -", "powershell"}

// fetcher matches a command at the start of an encoded command line.
var fetcher = regexp.MustCompile(`(?i)\b(?:curl|wget|invoke-webrequest|iwr|powershell|bash|sh|nc|eval|exec|python3?|chmod|ssh|scp)\s+\S`)

const whyCommand = "has a command line that destroys data, or runs code from elsewhere"

// commands finds command lines that destroy data or run downloaded code. Users can judge visible
// ones in a result. Honest command lines are not encoded.
func (s *scan) commands() {
	if s.at.Part == InResource || s.at.Part == InResult && s.layer.how == "" {
		return
	}
	text := s.layer.text
	if s.layer.isEncoded {
		if at := fetcher.FindStringIndex(text); at != nil {
			s.add("command", "has a command line", 6, at[0], at[1])
		}
	}
	const long, many = 300, 256
	for _, sign := range shellSigns {
		for i, tries := 0, 0; ; i, tries = i+1, tries+1 {
			next := strings.Index(text[i:], sign)
			if next < 0 {
				break
			}
			i += next
			if tries == many {
				s.report.cutShort(s.at.Field, "too many command lines to check")
				break
			}
			if at := shell.FindStringIndex(text[i:min(len(text), i+long)]); at != nil {
				s.add("command", whyCommand, 6, i, i+at[1])
				return
			}
		}
	}
}
