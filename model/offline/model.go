package offline

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// maxQuestion is the number of bytes of a question that are read.
	maxQuestion = 8 << 10
	// maxSteps is the number of steps of one question that are executed.
	maxSteps = 16
	// maxExtract is the number of bytes of a conversation that replace its summary.
	maxExtract = 4 << 10
	// searchTool is the host's tool that finds other tools. Its arguments are {"queries":[string]}.
	searchTool = "search_tools"
)

type offline struct{}

// New returns the model. It is safe for concurrent use, fails only if the context has ended, and
// returns at most one call at a time. It ignores limits of an answer, and [model.ChoiceRequired] if
// no call is possible.
func New() model.Model { return offline{} }

// Info describes the model, which is not a language model.
func (offline) Info() model.Info { return model.Info{Provider: "junction", Name: "offline"} }

// Generate answers the last message of the user.
func (offline) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if emit == nil {
		emit = func(model.Delta) {}
	}
	res := &model.Response{Stop: model.StopEnd, Model: "offline"}
	call, text := next(req)
	if call != nil {
		res.Stop = model.StopCalls
		emit(model.Delta{Call: &model.CallDelta{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)}})
	} else {
		for word := range strings.SplitAfterSeq(text, " ") {
			emit(model.Delta{Text: word})
		}
	}
	res.Message = model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text, Call: call}}}
	res.Usage = wire.Estimate(req, &res.Message)
	return res, ctx.Err()
}

// next returns the call of the next step, or a text if there is none.
func next(req *model.Request) (*model.Call, string) {
	if len(req.Tools) == 0 && req.System != "" {
		text := req.Messages[len(req.Messages)-1].Text()
		return nil, "An extract, because there is no language model:\n" + strings.ToValidUTF8(text[max(0, len(text)-maxExtract):], "")
	}
	question, done, searched := lastTurn(req.Messages)
	todo := steps(question)
	at, last := len(done), min(len(todo), maxSteps)
	said := outcome(done)
	switch {
	case at > 0 && (at >= last || done[at-1].IsError):
		return nil, join(said, notDone(todo[min(at, last):]))
	case last == 0:
		return nil, introduction(req.Tools)
	case req.Choice == model.ChoiceNone:
		return nil, join(said, "I may not call a tool now.", honest)
	}
	tools := slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool { return t.Name == searchTool })
	p := find(tools, todo[at])
	call := &model.Call{ID: wire.NewIDs(req).Unique("")}
	switch {
	case p != nil && p.problem == "":
		call.Name, call.Arguments = p.tool.Name, p.arguments
		return call, ""
	case p == nil && !searched && len(tools) < len(req.Tools):
		query := jsonrpc.NewObject(nil)
		query.Array("queries")
		query.StringElement(todo[at])
		call.Name, call.Arguments = searchTool, query.Bytes()
		return call, ""
	case p == nil && at == 0:
		said = introduction(tools)
	default:
		said = join(said, explainNoCall(p, todo[at]))
	}
	return nil, join(said, notDone(todo[at+1:]))
}

// lastTurn returns the last question of the user and the results of the calls since then, without
// those of tool searches. searched reports whether the last call was a tool search.
func lastTurn(messages []model.Message) (question string, done []*model.Result, searched bool) {
	for i := range messages {
		if messages[i].Role == model.RoleUser {
			question, done, searched = questionIn(&messages[i]), nil, false
		}
		for _, p := range messages[i].Parts {
			if p.Result == nil {
				continue
			}
			if searched = p.Result.Name == searchTool; !searched {
				done = append(done, p.Result)
			}
		}
	}
	return question, done, searched
}

// questionIn returns the first text that the user may have written. It skips texts that a host
// inserts, such as a summary, which are several lines in brackets.
func questionIn(m *model.Message) string {
	for _, p := range m.Parts {
		note := strings.HasPrefix(p.Text, "[") && strings.HasSuffix(p.Text, "]") && strings.Contains(p.Text, "\n")
		if p.Text != "" && !note {
			return strings.ToValidUTF8(p.Text[:min(len(p.Text), maxQuestion)], "")
		}
	}
	return ""
}

// sumQuestion is the question that [Example] returns for a tool that adds two numbers.
const sumQuestion = "add 2 and 40"

// plainWord matches words that may be part of an example: without spaces and without characters
// that have a meaning in a question.
var plainWord = lazy.Regexp(`^[A-Za-z0-9][\w.-]{0,39}$`)

// Example returns a question that the model answers with a call of one of these tools, or "". If
// searched is set, the model must search for tools first, so the question contains the tool's name.
func Example(tools []model.Tool, searched bool) string {
	var first []*model.Tool
	if p := find(tools, sumQuestion); p != nil && p.problem == "" {
		if !searched {
			return sumQuestion
		}
		first = append(first, p.tool)
	}
	for i := range tools {
		first = append(first, &tools[i])
	}
	for _, tool := range first {
		question := exampleOf(tool)
		if all := steps(question); len(all) != 1 || all[0] != question {
			continue
		}
		if p := find(tools, question); p != nil && p.problem == "" && p.tool == tool {
			return question
		}
	}
	return ""
}

// exampleOf returns a call of a tool in the form that a user types. It returns "" if the call needs
// a text that only a user knows.
func exampleOf(tool *model.Tool) string {
	words := []string{plainName(tool.Name)}
	for i, p := range paramsOf(tool.Schema) {
		if !p.Required {
			break
		}
		values, value := p.Choices(), ""
		switch {
		case len(values) > 0:
			value, _ = jsonrpc.Unquote(values[0])
		case len(p.types) == 1 && (p.types[0] == "number" || p.types[0] == "integer"):
			value = strconv.Itoa([]int{2, 40}[i%2])
		}
		if !plainWord().MatchString(value) {
			return ""
		}
		words = append(words, p.Name+"="+value)
	}
	for _, w := range words {
		if name, _, _ := strings.Cut(w, "="); !plainWord().MatchString(name) {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// A kind is the kind of a piece of a step.
type kind int

const (
	word   kind = iota
	pair        // key=value or key:=JSON
	quoted      // "some text"
	number
)

// A piece is a part of a step: a word, a number, a quoted text or a pair.
type piece struct {
	kind      kind
	key, text string // text without quotes or surrounding punctuation
	start     int    // position in the step
}

var (
	// stepEnd captures the end of a step outside of quoted texts.
	stepEnd = lazy.Regexp(`(?i)"(?:[^"\\]|\\.)*"|([;\n]|(?:^|\s)then(?:[\s,]|$))`)
	before  = lazy.Regexp(`(?i)^\s*(?:(?:and|first|finally|please|then)(?:[\s,]+|$))*`)
	behind  = lazy.Regexp(`(?i)(?:[\s,]+and|[\s,])*$`)
	// piecePattern captures a key, a text in quotes, and a text without quotes.
	piecePattern  = lazy.Regexp(`(?:([A-Za-z_][\w.-]*):?=)?(?:"((?:[^"\\]|\\.)*)"|(\S+))`)
	numberPattern = lazy.Regexp(`^(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\.*$`)
	escapes       = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n")
)

// steps splits a question at "then", semicolons and line ends.
func steps(question string) []string {
	var all []string
	from := 0
	add := func(to int) {
		step := question[from:to]
		step = step[len(before().FindString(step)):]
		if step = step[:behind().FindStringIndex(step)[0]]; step != "" {
			all = append(all, step)
		}
	}
	for _, m := range stepEnd().FindAllStringSubmatchIndex(question, -1) {
		if m[2] >= 0 {
			add(m[2])
			from = m[3]
		}
	}
	add(len(question))
	return all
}

// piecesOf splits a step into pieces.
func piecesOf(step string) []piece {
	var all []piece
	for _, m := range piecePattern().FindAllStringSubmatchIndex(step, -1) {
		p := piece{start: m[0]}
		if m[4] >= 0 {
			p.kind, p.text = quoted, escapes.Replace(step[m[4]:m[5]])
		} else if p.text = strings.Trim(step[m[6]:m[7]], ",:!?()"); numberPattern().MatchString(p.text) {
			p.kind, p.text = number, strings.TrimRight(p.text, ".")
		}
		if m[2] >= 0 {
			p.kind, p.key = pair, step[m[2]:m[3]]
		}
		all = append(all, p)
	}
	return all
}

var (
	humps  = lazy.Regexp(`(\p{Ll})(\p{Lu})`)
	ending = lazy.Regexp(`^(.{3,}?)(?:ing|ed|es|s|e)$`)
)

// alike maps words in tools' names to words in questions about them, both in the form of [split].
var alike = map[string]string{"sum": "add", "add": "sum"}

// split splits a text or an identifier into lower-case words without their endings: adds and adding
// become add.
func split(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(humps().ReplaceAllString(s, "$1 $2")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = ending().ReplaceAllString(w, "$1")
	}
	return words
}
