package guard

import (
	"regexp"
	"strings"
)

var (
	authorityTag = regexp.MustCompile(`(?i)^(?:<\s*/?\s*(?:important|system|secret|hidden|admin|critical|instructions?|developer|sys|priority|override|assistant)(?:[^a-z<>][^<>]{0,40})?>|</?\s*(?:tool_result|tool_response|tool_output|function_results?|human)\s*>|<\|\s*(?:im_start|im_end|system|assistant|user|end)[^<>]{0,10}\|>|<<\s*sys\s*>>)`)
	authorityTab = regexp.MustCompile(`^\[/?INST\]|(?i)^\[\s*/?\s*(?:system|admin|important instructions?|system (?:prompt|message|override|note|instructions?))\s*\]`)
	heading      = regexp.MustCompile(`(?i)^#{1,6}[ \t]*(?:(?:system|new)[ \t]+(?:prompt|message|override|instructions?)|system[ \t]*(?::|\n|$))`)
	// aboutMarkup follows markup that is only spoken of.
	aboutMarkup = regexp.MustCompile(`(?i)^[` + "`'\"`" + `]?\s+(?:and\s+\S+\s+)?(?:tag|element|block|section|marker|token)s?\b`)
	// option is what stands before the placeholder of a command line: --secret <secret>.
	option = regexp.MustCompile(`--[\w-]+[ =]$`)
	// longerName is of a part of a text that is in parts, or of a placeholder: <important_notes>, <sys_id>.
	longerName = regexp.MustCompile(`(?i)^</?(?:important|critical|priority|instructions?|sys)[_-]\w`)
	// elementName is of markup, in small letters, that honest documents have too: sitemaps, projects.
	elementName = regexp.MustCompile(`^</?(?:secret|hidden|admin|critical|developer|sys|priority|override)\b`)
)

// marks looks for markup that gives a text more authority than it has, or
// moves a part of it out of sight.
func (s *scan) marks() {
	text := s.layer.text
	s.authority("<", authorityTag, 6)
	s.authority("[", authorityTab, 4)
	s.authority("#", heading, 4)
	s.calledUpon()
	s.addressedComment()
	s.turns()
	if s.at.Part == InResult || s.at.Part == InResource {
		return
	}
	if start := strings.Index(text, "<!--"); start >= 0 {
		s.add("comment", "has a part that only a model reads, as a comment", 3, start, min(len(text), start+maxExcerpt))
	}
	if at := afterEmptiness(text); at > 0 {
		s.add("emptiness", "has a part that is moved out of sight with white space", 3, at, min(len(text), at+maxExcerpt))
	}
}

// addressedComment looks for a comment that tells a model to do something, which in
// a page no reader sees.
func (s *scan) addressedComment() {
	names := theLanguage().names
	orders := names["must"] | names["use"] | names["ignore"] | names["read"] | names["send"] | names["tell"]
	i := 0 // in words
	eachComment(s.layer.text, func(start, end int) bool {
		for ; i < len(s.words) && s.words[i].start < start; i++ {
		}
		for model := -1; i < len(s.words) && s.words[i].end <= end; i++ {
			switch {
			case s.words[i].ideas&names["machine"] != 0:
				model = i
			case model >= 0 && i-model <= 6 && s.words[i].ideas&orders != 0:
				s.add("comment", "tells a model to do something in a comment, which no reader sees", warnAt, s.words[model].start, s.words[i].end)
				return false
			}
		}
		return true
	})
}

// eachComment calls f with the places of HTML comments, until it returns false.
// One that is not closed goes to the end.
func eachComment(text string, f func(start, end int) bool) {
	for i := 0; ; {
		start := strings.Index(text[i:], "<!--")
		if start < 0 {
			return
		}
		start += i
		end := len(text)
		if n := strings.Index(text[start:], "-->"); n >= 0 {
			end = start + n
		}
		if !f(start, end) {
			return
		}
		i = end
	}
}

// afterEmptiness returns where text goes on after more white space than any
// layout needs, or 0.
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

// authority looks for markup that starts with sign and is found by pattern,
// which is less in what may be a document than in a definition or question.
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
		if !mayName(piece) {
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
		s.add("authority-tag", "is marked up as a message of the system", weight, i, i+at[1])
		return
	}
}

// mayName reports, quickly, whether a piece of markup may have one of the
// names with authority: whether its first letter fits.
func mayName(piece string) bool {
	const most = 12
	for i := 1; i < min(len(piece), most); i++ {
		if isLetter(piece[i]) {
			return strings.IndexByte("isahcdpounetf", piece[i]|0x20) >= 0
		}
	}
	return false
}

// isCode reports whether a place in a document is in a block of code or quoted as code.
func (s *scan) isCode(i int) bool {
	if s.at.Part != InResource && s.at.Part != InResult || s.layer.how != "" {
		return false
	}
	return i > 0 && s.layer.text[i-1] == '`' || strings.Count(s.layer.text[:i], "```")%2 == 1
}

// weigh returns the weight in a definition or question, or that in anything else.
func (s *scan) weigh(definition, other int) int {
	switch s.at.Part {
	case InResult, InResource, InPrompt:
		return other
	}
	return definition
}

var shell = regexp.MustCompile(`(?i)^(?:(?:curl|wget)\b[^|\n]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b|rm\s+-(?:rf|fr|r\s+-f)\s+\S|/dev/tcp/|bash\s+-i\s+>&|nc\s+(?:-\w+\s+)*-e\b|base64\s+(?:-d|--decode)[^|\n]*\|\s*(?:ba|z)?sh\b|powershell[^\n]*\s-e(?:nc|ncodedcommand)\b)`)

// shellSigns are how the texts start in which shell matches.
var shellSigns = []string{"curl", "wget", "rm -", "/dev/tcp", "bash -i", "nc -", "base64 -", "powershell"}

// fetcher is a command that an encoded command line may start with.
var fetcher = regexp.MustCompile(`(?i)\b(?:curl|wget|invoke-webrequest|iwr|powershell|bash|sh|nc|eval|exec|python3?|chmod|ssh|scp)\s+\S`)

const whyCommand = "has a command line that destroys, or runs what comes from elsewhere"

// commands looks for command lines that destroy, or run what comes from
// elsewhere. In the open they are for a person to judge; nobody encodes an honest one.
func (s *scan) commands() {
	if s.at.Part == InResource || s.at.Part == InResult && s.layer.how == "" && !s.report.fault {
		return
	}
	text := s.layer.text
	if s.layer.how == howHex || s.layer.how == howBase64 {
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
