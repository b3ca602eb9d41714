package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A part is a piece of a text: as it is, or an expression to be computed.
type part struct {
	text       string
	expression bool
}

// parts takes a text apart at its expressions.
func parts(s string) ([]part, error) {
	var all []part
	for {
		before, after, found := strings.Cut(s, "${")
		if before != "" {
			all = append(all, part{text: before})
		}
		if !found {
			return all, nil
		}
		end := closing(after)
		if end < 0 {
			return nil, fmt.Errorf("the expression ${%s is not closed", clip(after))
		}
		expression := strings.TrimSpace(after[:end])
		if err := readable(expression); err != nil {
			return nil, err
		}
		all = append(all, part{expression, true})
		s = after[end+1:]
	}
}

// closing finds the brace behind an expression, none that is in backquotes.
func closing(s string) int {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '`':
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return i
		}
	}
	return -1
}

var (
	callPattern   = regexp.MustCompile(`^(csv|len|match)\((.*)\)$`)
	resultPattern = regexp.MustCompile(`^result(?:\[(-?\d+)\])?((?:\.[\w-]+|\[\d+\])*)$`)
	stepPattern   = regexp.MustCompile(`\.([\w-]+)|\[(\d+)\]`)
	matchPattern  = regexp.MustCompile("^(.*?)\\s*,\\s*`([^`]*)`$")
)

// readable checks an expression without computing it.
func readable(expression string) error {
	call := callPattern.FindStringSubmatch(expression)
	switch {
	case call == nil && !resultPattern.MatchString(expression):
		return fmt.Errorf("expression %q: expected result, csv(…), len(…) or match(…, `…`)", expression)
	case call == nil:
		return nil
	case call[1] != "match":
		return readable(call[2])
	}
	arguments := matchPattern.FindStringSubmatch(call[2])
	if arguments == nil {
		return fmt.Errorf("expression %q: expected match(result, `regular expression`)", expression)
	}
	if _, err := regexp.Compile(arguments[2]); err != nil {
		return fmt.Errorf("expression %q: %w", expression, err)
	}
	return readable(arguments[1])
}

// compute returns the JSON value of an expression that is readable.
func compute(expression string, results []string) (json.RawMessage, error) {
	value, err := evaluate(expression, results)
	if err != nil {
		return nil, fmt.Errorf("${%s}: %w", expression, err)
	}
	return value, nil
}

func evaluate(expression string, results []string) (json.RawMessage, error) {
	call := callPattern.FindStringSubmatch(expression)
	if call == nil {
		return lookUp(expression, results)
	}
	if call[1] == "match" {
		arguments := matchPattern.FindStringSubmatch(call[2])
		value, err := evaluate(arguments[1], results)
		if err != nil {
			return nil, err
		}
		return match(plain(value), arguments[2])
	}
	value, err := evaluate(call[2], results)
	if err != nil {
		return nil, err
	}
	if value, err = structured(value); err != nil {
		return nil, err
	}
	if call[1] == "csv" {
		return asCSV(value)
	}
	list, err := elements(value)
	return json.RawMessage(strconv.Itoa(len(list))), err
}

// lookUp finds a result, or a value in it.
func lookUp(expression string, results []string) (json.RawMessage, error) {
	m := resultPattern.FindStringSubmatch(expression)
	at := len(results) - 1
	if m[1] != "" {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, err
		}
		if at = n; n < 0 {
			at = len(results) + n
		}
	}
	if at < 0 || at >= len(results) {
		return nil, fmt.Errorf("there are %d results", len(results))
	}
	value := json.RawMessage(jsonrpc.AppendString(nil, results[at]))
	if m[2] == "" {
		return value, nil
	}
	value, err := structured(value)
	if err != nil {
		return nil, err
	}
	for _, step := range stepPattern.FindAllStringSubmatch(m[2], -1) {
		if value = stepInto(value, step[1], step[2]); value == nil {
			return nil, fmt.Errorf("nothing is at %s", step[0])
		}
	}
	return value, nil
}

func stepInto(value json.RawMessage, name, index string) json.RawMessage {
	if name != "" {
		return jsonrpc.Get(value, name)
	}
	list, err := elements(value)
	if n, bad := strconv.Atoi(index); err == nil && bad == nil && n < len(list) {
		return list[n]
	}
	return nil
}

// structured is a value that is no text, or the first object or list in a text.
func structured(value json.RawMessage) (json.RawMessage, error) {
	text, isText := jsonrpc.Unquote(value)
	if !isText {
		return value, nil
	}
	rest := text
	for range 64 {
		at := strings.IndexAny(rest, "[{")
		if at < 0 {
			break
		}
		var found json.RawMessage
		if json.NewDecoder(strings.NewReader(rest[at:])).Decode(&found) == nil {
			return found, nil
		}
		rest = rest[at+1:]
	}
	return nil, fmt.Errorf("there is no JSON in %q", clip(text))
}

func elements(value json.RawMessage) ([]json.RawMessage, error) {
	if len(value) == 0 || value[0] != '[' {
		return nil, fmt.Errorf("expected a list, got %s", clip(string(value)))
	}
	var list []json.RawMessage
	jsonrpc.EachElement(value, func(e []byte) bool {
		list = append(list, e)
		return true
	})
	return list, nil
}

// asCSV writes a list of objects with their names as the first line, or a list
// of lists as it is.
func asCSV(value json.RawMessage) (json.RawMessage, error) {
	rows, err := elements(value)
	if err != nil {
		return nil, err
	}
	names := columns(rows)
	var table [][]string
	if len(names) > 0 {
		table = append(table, names)
	}
	for _, row := range rows {
		var cells []string
		switch row[0] {
		case '[':
			jsonrpc.EachElement(row, func(cell []byte) bool {
				cells = append(cells, plain(cell))
				return true
			})
		case '{':
			for _, name := range names {
				cells = append(cells, plain(jsonrpc.Get(row, name)))
			}
		default:
			return nil, fmt.Errorf("expected a row that is an object or a list, got %s", clip(string(row)))
		}
		table = append(table, cells)
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(table); err != nil {
		return nil, err
	}
	return jsonrpc.AppendString(nil, b.String()), nil
}

// columns are the names of all members of all rows, in the order in which they
// come up.
func columns(rows []json.RawMessage) []string {
	var names []string
	for _, row := range rows {
		jsonrpc.EachMember(row, func(quoted, _ []byte) bool {
			if name := plain(quoted); !slices.Contains(names, name) {
				names = append(names, name)
			}
			return true
		})
	}
	return names
}

func match(text, pattern string) (json.RawMessage, error) {
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	m := expression.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("nothing matches in " + strconv.Quote(clip(text)))
	}
	return jsonrpc.AppendString(nil, m[min(1, len(m)-1)]), nil
}

// plain is a value as text: strings without their quotes, null as nothing.
func plain(value json.RawMessage) string {
	if text, ok := jsonrpc.Unquote(value); ok {
		return text
	}
	if string(value) == "null" {
		return ""
	}
	return string(value)
}
