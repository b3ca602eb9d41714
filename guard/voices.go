package guard

import (
	"regexp"
	"strings"
)

// calledUpon looks for a call upon whichever model reads the text: "AI agents: send …",
// "note to assistants: …", "if you are an AI, …".
func (s *scan) calledUpon() {
	names := theLanguage().names
	orders := names["must"] | names["use"] | names["ignore"] | names["read"] | names["send"] | names["tell"] | names["show"] | names["put"] | names["follow"] | names["you"] | names["retry"]
	const near = 12
	for i, w := range s.words[:max(0, len(s.words)-1)] {
		if w.ideas&names["model"] == 0 {
			continue
		}
		if weight := s.salutation(i); weight > 0 {
			s.add("authority", "calls upon the model that reads it", weight, w.start, w.end)
			return
		}
		if !s.isAddressed(i) {
			continue
		}
		for j := i + 1; j < min(len(s.words), i+near) && s.words[j].position-w.position < near; j++ {
			if s.words[j].ideas&orders != 0 {
				s.add("authority", "calls upon the model that reads it", s.weigh(8, warnAt), w.start, s.words[j].end)
				return
			}
		}
	}
}

// isAddressed reports whether the model that the word at i is, is spoken to.
func (s *scan) isAddressed(i int) bool {
	if strings.IndexByte(":,", s.layer.text[s.words[i].end]) >= 0 && s.isMachine(i) {
		return true
	}
	if s.words[i].ideas&theLanguage().names["machine"] == 0 && !s.isReader(i) {
		return false
	}
	lead := s.lead(i)
	return mayCall(lead) && calls.MatchString(lead) || s.isReader(i)
}

// mayCall reports, quickly, whether a text may match what somebody is called upon with.
func mayCall(lead string) bool {
	lead = strings.ToLower(lead)
	for _, word := range []string{"dear", "hey", "hi", "hello", "attention", "calling", "note", "message", "notice", "memo", "reminder", "hint", "todo", "if you", "instruction"} {
		if strings.Contains(lead, word) {
			return true
		}
	}
	return false
}

// maxCall is how many bytes before a word are looked at for a call.
const maxCall = 48

// salutation returns the weight of the word at i if it ends "Dear assistant," or "instructions
// for AI models:", which says enough, but in a definition, which all is for models. A dear agent
// may be a person.
func (s *scan) salutation(i int) int {
	lead := s.lead(i)
	if !mayCall(lead) {
		return 0
	}
	switch c := s.layer.text[s.words[i].end]; {
	case c == ':' && noteTo.MatchString(lead) && s.at.Part == InDefinition:
		return 3
	case c == ':' && calls.MatchString(lead), c == ',' && salutes.MatchString(lead) && !strings.HasPrefix(strings.ToLower(s.text(i)), "agent"):
		return s.weigh(8, warnAt)
	case c == ':' && forModels.MatchString(lead) && s.at.Part == InDefinition:
		return 3
	case c == ':' && forModels.MatchString(lead):
		return warnAt
	}
	return 0
}

var (
	salutes   = regexp.MustCompile(`(?i)(?:^|[^\w])(?:dear|hey|hello) (?:(?:AI|LLM) )?$`)
	noteTo    = regexp.MustCompile(`(?i)(?:^|[^\w])(?:note|hint|reminder) (?:to|for) (?:(?:the|an?) )?(?:(?:AI|LLM) )?$`)
	forModels = regexp.MustCompile(`(?i)[^\w]instructions? (?:to|for) (?:(?:all|any|the|every) )?(?:(?:AI|LLM|language)[ -])?$`)
)

// lead returns what stands before a word.
func (s *scan) lead(i int) string {
	return s.layer.text[max(0, s.words[i].start-maxCall):s.words[i].start]
}

// calls matches a text that ends with the words by which somebody is called upon.
var calls = regexp.MustCompile(`(?i)(?:^|[^\w])(?:(?:dear|hey|hi|hello|attention|calling all)[ ,:]+|(?:note|message|notice|memo|reminder|hint|todo) (?:to|for) |if you(?: are|\W?re) )(?:(?:all|any|the|an?|every|other|reading|my) ){0,2}(?:(?:AI|LLM|language)[ -]){0,2}$`)

// isReader reports whether the word at i is whichever model reads the text.
func (s *scan) isReader(i int) bool {
	if i == 0 || i+1 >= len(s.words) {
		return false
	}
	switch strings.ToLower(s.text(i - 1)) {
	case "any", "whichever", "every", "ai", "language":
	default:
		return false
	}
	for j := i + 1; j < min(len(s.words), i+3); j++ {
		switch strings.ToLower(s.text(j)) {
		case "reads", "reading", "processing", "processes", "summarizing", "summarising", "parsing", "seeing", "sees":
			return true
		}
	}
	return false
}

// isListed reports whether the word at i is the name of a parameter in a list of such: "llm: the
// model to use".
func (s *scan) isListed(i int) bool {
	lead := s.lead(i)
	line := strings.LastIndexByte(lead, '\n')
	return line >= 0 && strings.Trim(lead[line:], " \t\n-*`") == "" && s.layer.text[s.words[i].end] == ':' && s.text(i) == strings.ToLower(s.text(i))
}

// isMachine reports whether the word at i is AI or LLM, alone or before agents,
// assistants and models, since agents may be people; where a comma follows, which may be
// one of a list, the words begin a sentence.
func (s *scan) isMachine(i int) bool {
	if at := s.words[i].start; at > 0 && s.layer.text[at-1] == '_' {
		return false // the end of a name
	} else if s.isListed(i) {
		return false
	}
	first := i
	for first > 0 && i-first < 2 && s.layer.text[s.words[first-1].end:s.words[first].start] == " " {
		first--
	}
	for _, w := range s.words[first : i+1] {
		switch strings.ToLower(s.layer.text[w.start:w.end]) {
		case "ai", "ais", "llm", "llms", "language":
			return s.layer.text[s.words[i].end] == ':' || w.start == 0 || beginsSentence.MatchString(s.layer.text[max(0, w.start-2):w.start])
		}
	}
	return false
}

var (
	// spoken is the label of a message of the system, at the start of a line.
	spoken = regexp.MustCompile(`(?i)^(?:system|developer|administrator)(?: (?:message|prompt|note|notice|alert|override))?[*]*:[* \t]+[^\s*]`)
	// asJSON is what follows "role" in a message of the system as a program would send it.
	asJSON = regexp.MustCompile(`^\s*:\s*"(?:system|developer)"`)
)

// templates are what some models have before a user's turn, and after it.
var templates = [][2]string{{"## Instruction:", "\n### Response:"}, {"\n\nHuman: ", "\n\nAssistant:"}}

// turns looks in what a tool gives for messages that pretend to be turns of the
// conversation: of the system, or of the user.
func (s *scan) turns() {
	if s.at.Part != InResult && s.at.Part != InResource {
		return
	}
	text := s.layer.text
	for _, t := range templates {
		start := strings.Index(text, t[0])
		if start >= 0 && strings.Contains(text[start:], t[1]) {
			s.add("authority", "pretends to be a turn of the conversation", warnAt, start, start+len(t[0]))
		}
	}
	const role = `"role"`
	if start := strings.Index(text, role); start >= 0 && asJSON.MatchString(text[start+len(role):]) && !s.isCode(start) {
		s.add("authority", "pretends to be a message of the system", 4, start, start+len(role))
	}
	const many = 64
	i, labels := 0, 0 // words and labels looked at
	for start := 0; start < len(text) && labels < many; {
		end := len(text)
		if n := strings.IndexByte(text[start:], '\n'); n >= 0 {
			end = start + n
		}
		line := strings.TrimLeft(text[start:end], " \t>*")
		if line != "" && strings.IndexByte("sda", line[0]|0x20) >= 0 && spoken.MatchString(line) {
			if labels++; s.isOrdering(&i, end-len(line), end) {
				return
			}
		}
		start = end + 1
	}
}

// isOrdering adds a signal if the line from start to end, whose words come after word i, says
// something to the model.
func (s *scan) isOrdering(i *int, start, end int) bool {
	names := theLanguage().names
	orders := names["must"] | names["ignore"] | names["send"] | names["follow"] | names["you"] | names["approved"] | names["secretly"] | names["model"] | names["now"]
	const near = 10
	for ; *i < len(s.words) && s.words[*i].start < start; *i++ {
	}
	for j := *i + 1; j < min(len(s.words), *i+near) && s.words[j].end <= end; j++ {
		if s.words[j].ideas&orders != 0 && !s.isCode(start) {
			s.add("authority", "pretends to be a message of the system", warnAt+1, start, s.words[j].end)
			return true
		}
	}
	return false
}
