package offline

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/model"
)

// A plan is a call that a step could be.
type plan struct {
	tool   *model.Tool
	params []*param
	values map[string]json.RawMessage
	// missing are parameters that are required and that nothing was found for.
	missing []*param
	// unknown are keys that the step has and the tool has not.
	unknown []string
	// problem is why the arguments do not fit the schema, and empty if they do.
	problem string
	// other is a tool that the step names as well; only one can be meant.
	other string
	// named is how surely the step says the tool's own name, from 0 to 1.
	named float64
	// typed counts the values that are there because of what they are: pairs,
	// addresses, paths, choices.
	typed int
	// unused counts the addresses, paths, numbers and quoted texts of the step that
	// no parameter has.
	unused int
	pieces []*piece
}

// ready reports whether the call can be made.
func (p *plan) ready() bool {
	return len(p.missing) == 0 && len(p.unknown) == 0 && p.problem == "" && p.other == ""
}

// arguments are the values as one object, in the order of the schema.
func (p *plan) arguments() json.RawMessage {
	out := []byte{'{'}
	for _, param := range p.params {
		value, found := p.values[param.name]
		if !found {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(out, param.name)
		out = append(append(out, ':'), value...)
	}
	return append(out, '}')
}

// fill finds the arguments of a tool in a step: first what can only be meant for
// one parameter, last what is left.
func fill(step string, tool *model.Tool) *plan {
	f := &filling{step: step, pieces: pieces(step), plan: &plan{tool: tool, params: paramsOf(tool.Schema), values: map[string]json.RawMessage{}}}
	f.head()
	f.pairs()
	f.objects()
	for _, k := range []kind{url, email, date, path} {
		f.addresses(k)
	}
	f.choices()
	f.booleans()
	f.numbers()
	f.quoted()
	f.rest()
	f.unknownKeys()
	f.finish()
	f.plan.pieces = f.pieces
	return f.plan
}

// A filling is a plan that is being made.
type filling struct {
	step   string
	pieces []*piece
	plan   *plan
	// from and to are the pieces that name the tool; from == to if none does.
	from, to int
}

func (f *filling) has(p *param) bool {
	_, found := f.plan.values[p.name]
	return found
}

// set gives a parameter a text, and reports whether the text is of its type.
func (f *filling) set(p *param, text string, from ...*piece) bool {
	value, ok := encode(p, text)
	return ok && f.keep(p, value, from)
}

// keep gives a parameter a value, unless it has one, and uses up the pieces that the
// value is from.
func (f *filling) keep(p *param, value json.RawMessage, from []*piece) bool {
	if f.has(p) {
		return false
	}
	f.plan.values[p.name] = value
	for _, piece := range from {
		piece.used = true
	}
	return true
}

// open iterates over the parameters without a value for which fits holds.
func (f *filling) open(fits func(*param) bool) []*param {
	var found []*param
	for _, p := range f.plan.params {
		if !f.has(p) && fits(p) {
			found = append(found, p)
		}
	}
	return found
}

// unused are the pieces of these kinds that no parameter has.
func (f *filling) unused(kinds ...kind) []*piece {
	var found []*piece
	for _, p := range f.pieces {
		if !p.used && slices.Contains(kinds, p.kind) {
			found = append(found, p)
		}
	}
	return found
}

// pairs takes key=value and key: value for the keys that the tool has. A text
// behind a colon goes on to the next pair or the end, and so does one of several
// words behind an equals sign if the parameter is for such a text.
func (f *filling) pairs() {
	for i, piece := range f.pieces {
		if piece.kind != pair {
			continue
		}
		p := f.byName(piece.key)
		if p == nil || f.has(p) {
			continue
		}
		text, from := piece.text, f.pieces[i:i+1]
		if long := piece.colon || p.free(); long && !piece.literal && p.textual() && kindOf(text) == word {
			end := i + 1
			for end < len(f.pieces) && (f.pieces[end].kind != pair || f.byName(f.pieces[end].key) == nil) {
				end++
			}
			start := strings.Index(f.step[piece.start:], text) + piece.start
			text, from = strings.TrimRight(f.step[start:f.pieces[end-1].end], " \t,;"), f.pieces[i:end]
		}
		if f.set(p, text, from...) {
			f.plan.typed++
		} else {
			piece.used = true
			f.plan.problem = p.name + ": expected " + p.kindName() + ", got " + strconv.Quote(clip(text))
		}
	}
}

// byName finds a parameter; cityName, city_name and City-Name are the same.
func (f *filling) byName(key string) *param {
	words := strings.Join(split(key), "")
	for _, p := range f.plan.params {
		if p.name == key || strings.Join(p.words, "") == words {
			return p
		}
	}
	return nil
}

func (f *filling) objects() {
	for _, piece := range f.unused(object) {
		kind := "object"
		if piece.text[0] == '[' {
			kind = "array"
		}
		for _, p := range f.open(func(p *param) bool { return p.is(kind) }) {
			if f.set(p, piece.text, piece) {
				break
			}
		}
	}
}

// addresses takes what only fits one kind of parameter: URLs, paths and such.
func (f *filling) addresses(k kind) {
	takers := f.open(func(p *param) bool { return p.takes(k) })
	for _, p := range takers { // from a.txt to b.txt, whichever comes first
		if piece := f.behindName(p, k); piece != nil && f.set(p, piece.text, piece) {
			f.plan.typed++
		}
	}
	for _, p := range takers {
		all := f.unused(k)
		switch {
		case len(all) == 0 || f.has(p):
		case p.list():
			if f.setList(p, all) && len(all) > 1 {
				f.plan.typed++ // one alone is rather for a tool that takes one
			}
		case f.set(p, all[0].text, all[0]):
			f.plan.typed++
		}
	}
}

// behindName is the piece of a kind right behind the parameter's name.
func (f *filling) behindName(p *param, kinds ...kind) *piece {
	for i := range len(f.pieces) {
		at := i + len(p.words)
		if at >= len(f.pieces) || !slices.Contains(kinds, f.pieces[at].kind) || f.pieces[at].used {
			continue
		}
		same := true
		for j, w := range p.words {
			same = same && f.pieces[i+j].kind == word && strings.EqualFold(f.pieces[i+j].text, w)
		}
		if same && len(p.words) > 0 {
			return f.pieces[at]
		}
	}
	return nil
}

// choices takes a value that is mentioned, if there is a list of values.
func (f *filling) choices() {
	for _, p := range f.open(func(p *param) bool { return p.choices != nil }) {
		for _, piece := range f.unused(word, quoted, number) {
			if f.set(p, piece.text, piece) {
				f.plan.typed++
				break
			}
		}
	}
}

// booleans takes "recursive", "not recursive" and "recursive off".
func (f *filling) booleans() {
	for _, p := range f.open(func(p *param) bool { return p.is("boolean") && len(p.words) > 0 }) {
		for i := range f.pieces {
			if i >= f.from && i < f.to || !f.saysName(p, i) {
				continue
			}
			end, value := i+len(p.words), "true"
			used := slices.Clone(f.pieces[i:end])
			if i > 0 && slices.Contains([]string{"no", "not", "without", "never"}, strings.ToLower(f.pieces[i-1].text)) {
				value, used = "false", append(used, f.pieces[i-1])
			}
			if end < len(f.pieces) {
				if said, ok := truth(f.pieces[end].text); ok {
					value, used = strconv.FormatBool(said), append(used, f.pieces[end])
				}
			}
			f.set(p, value, used...)
			break
		}
	}
	for _, p := range f.open(func(p *param) bool { return p.is("boolean") && p.required }) {
		for _, piece := range f.unused(word) {
			if _, ok := truth(piece.text); ok && f.set(p, piece.text, piece) {
				break
			}
		}
	}
}

func (f *filling) saysName(p *param, at int) bool {
	for j, w := range p.words {
		if at+j >= len(f.pieces) || f.pieces[at+j].used || f.pieces[at+j].kind != word || !strings.EqualFold(f.pieces[at+j].text, w) {
			return false
		}
	}
	return len(p.words) > 0
}

// numbers takes numbers: next to a parameter's name, then in order for those that
// are required, then for the only one that is not.
func (f *filling) numbers() {
	takers := f.open(func(p *param) bool { return p.numeric() && p.choices == nil })
	for _, p := range takers {
		if piece := f.behindName(p, number); piece != nil && f.set(p, piece.text, piece) {
			f.plan.typed++
		}
		for i, piece := range f.pieces { // 3 days
			if piece.kind == number && !piece.used && f.saysName(p, i+1) && f.set(p, piece.text, f.pieces[i:i+1+len(p.words)]...) {
				f.plan.typed++
			}
		}
	}
	for _, p := range takers {
		for _, piece := range f.unused(number) {
			if p.required && f.set(p, piece.text, piece) {
				break
			}
		}
	}
	for _, p := range f.open(func(p *param) bool { return p.list() && p.items != nil && p.items.numeric() }) {
		if all := f.unused(number); len(all) > 0 {
			f.setList(p, all)
		}
	}
	if len(takers) == 1 && !takers[0].required && !f.wantsText() {
		if all := f.unused(number); len(all) == 1 {
			f.set(takers[0], all[0].text, all[0])
		}
	}
}

// wantsText reports whether a text is still required, which numbers may be
// part of.
func (f *filling) wantsText() bool {
	return len(f.open(func(p *param) bool { return p.required && p.textual() })) > 0
}

// quoted takes quoted texts in order, those behind a parameter's name first.
func (f *filling) quoted() {
	takers := f.open(func(p *param) bool { return p.textual() || p.list() })
	for _, p := range takers {
		if piece := f.behindName(p, quoted); piece != nil {
			f.set(p, piece.text, piece)
		}
	}
	for _, p := range takers {
		all := f.unused(quoted)
		switch {
		case len(all) == 0 || f.has(p):
		case p.list():
			f.setList(p, all)
		case p.required || len(f.open(func(p *param) bool { return p.textual() })) == 1:
			f.set(p, all[0].text, all[0])
		}
	}
}

// unknownKeys are pairs that no parameter took, neither as such nor as a part of
// a text.
func (f *filling) unknownKeys() {
	for _, piece := range f.unused(pair) {
		if !piece.colon {
			f.plan.unknown = append(f.plan.unknown, piece.key)
		}
	}
}

// finish tells what is missing, and what the schema says to the rest.
func (f *filling) finish() {
	f.plan.unused = len(f.unused(object, quoted, number, url, email, date, path))
	f.plan.missing = f.open(func(p *param) bool { return p.required })
	if len(f.plan.missing) > 0 || f.plan.problem != "" || f.plan.tool.Schema == nil {
		return
	}
	validator, err := schema.Compile(f.plan.tool.Schema)
	if err != nil {
		return // the server will say what it wants
	}
	var wrong *schema.Error
	if errors.As(validator.Validate(f.plan.arguments()), &wrong) {
		f.plan.problem = wrong.Error()
	}
}
