package guard

import (
	"regexp"
	"strings"
)

// calls matches a text that ends with a model that is called upon: "note to assistants:",
// "dear assistant,", "if you are an AI,", "whichever model reads", and, as the beginning of a sentence, "AI
// agents:". A dear agent may be a person.
var calls = regexp.MustCompile(`(?i)(?:` +
	`\b(?:(?:note|message|notice|memo|instructions?) (?:to|for)|attention|if you(?: are|'re)) (?:(?:all|any|an?|the|every|AI|LLM|language) ){0,3}(?:AIs?|LLMs?|assistants?|agents?|chatbots?|(?:language )?models?)[:,]` +
	`|\b(?:dear|hey|hello) (?:(?:AI|LLM|language) )?(?:AI|LLM|assistant|chatbot|model)s?[:,]` +
	`|\b(?:any|every|whichever) (?:AI |language )?(?:model|assistant|agent|LLM) (?:that )?(?:reads|reading|sees|processes|processing|summarizes|summarizing)` +
	`|(?:^|[.!?] |["(\n])(?:AI|LLM|language) (?:agent|assistant|model)s?(?::|, you))$`)

// maxCall is how many bytes before a word are looked at for a call.
const maxCall = 48

// calledUpon looks for a call upon whichever model reads the text. In a definition there is
// nothing to it: all of that is for models.
func (s *scan) calledUpon() {
	if s.at.Part == InDefinition || s.at.Part == InInstructions {
		return
	}
	model, every := theLanguage().names["model"], theLanguage().names["any"]
	for i, w := range s.words[:max(0, len(s.words)-1)] {
		called := strings.IndexByte(":,", s.layer.text[w.end]) >= 0
		if w.ideas&model == 0 || !called && !s.means(max(0, i-2), i-1, every) {
			continue
		}
		for _, until := range []int{w.end + 1, s.words[i+1].end} { // behind it is "you", or what a model does
			if until-w.end < maxCall && calls.MatchString(s.layer.text[max(0, w.start-maxCall):until]) {
				s.add("authority", "calls upon the model that reads it", s.weigh(8, warnAt), w.start, w.end)
				return
			}
		}
	}
}

// label is that of a message of the system, at the start of a line.
var label = regexp.MustCompile(`(?i)^(?:system|developer|administrator)(?: (?:message|prompt|note|notice|alert|override))?[*]*:[* \t]+[^\s*]`)

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
	const many, near = 64, 10 // labels looked at, and words behind each
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
					s.add("authority", "pretends to be a message of the system", warnAt+1, end-len(said), s.words[j].end)
					return
				}
			}
		}
		start = end
	}
}
