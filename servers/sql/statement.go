package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const maxStatement = 64 << 10 // bytes of a statement

// writes lists the first words that statements for execute may have.
var writes = []string{
	"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "WITH", "SELECT", "VALUES",
	"CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "COMMENT", "CALL",
}

// A statement is a statement whose words are permitted.
type statement struct {
	text      string
	functions []string // functions it calls, in lower case unless quoted
	returns   bool     // it returns rows, not the number of changes
}

// read parses and checks a statement for query.
func (d *dialect) read(sql string) (*statement, error) {
	tokens, s, err := d.one(sql)
	if err != nil {
		return nil, err
	}
	first := strings.ToUpper(firstWord(tokens))
	if !slices.Contains(d.reads, first) {
		return nil, fmt.Errorf("query runs one statement that only reads, but this begins with %q; expected %s", first, strings.Join(d.reads, ", "))
	}
	for i, t := range tokens {
		if t.kind != word || t.isName {
			continue
		}
		var next, last token
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if i > 0 {
			last = tokens[i-1]
		}
		w := strings.ToUpper(t.text)
		switch w {
		case "INSERT": // may be MySQL's function INSERT
			if d.syntax.mysql && next.text == "(" && next.kind == symbol {
				continue
			}
		case "CREATE": // EXPLAIN ANALYZE would create the table
			if first == "SHOW" {
				continue
			}
		case "INTO", "UPDATE", "DELETE", "MERGE":
		case "OUTFILE", "DUMPFILE":
			if !d.syntax.mysql {
				continue
			}
		case "SHARE":
			if !strings.EqualFold(last.text, "FOR") {
				continue
			}
		case "LOCK":
			if !d.syntax.mysql || !strings.EqualFold(next.text, "IN") {
				continue
			}
		default:
			continue
		}
		return nil, fmt.Errorf("query runs a statement that only reads, but this has the word %s; if it is a name, quote it", w)
	}
	for _, f := range s.functions {
		if slices.Contains(d.denied, strings.ToLower(f)) {
			return nil, fmt.Errorf("query does not call the function %s: it may have an effect that a read-only session allows, or wait", f)
		}
	}
	return s, nil
}

// change parses and checks a statement for execute.
func (d *dialect) change(sql string) (*statement, error) {
	tokens, s, err := d.one(sql)
	if err != nil {
		return nil, err
	}
	first := strings.ToUpper(firstWord(tokens))
	if !slices.Contains(writes, first) {
		return nil, fmt.Errorf("execute runs one statement in its own transaction, but this begins with %q; expected %s", first, strings.Join(writes, ", "))
	}
	s.returns = first == "SELECT" || first == "VALUES"
	for _, t := range tokens {
		if t.kind != word || t.isName {
			continue
		}
		switch strings.ToUpper(t.text) {
		case "RETURNING":
			s.returns = true
		case "OUTFILE", "DUMPFILE":
			if d.syntax.mysql {
				return nil, errors.New("execute does not write files on the machine of the database")
			}
		}
	}
	return s, nil
}

// one checks that there is a single statement, and finds the functions that it calls.
func (d *dialect) one(sql string) ([]token, *statement, error) {
	if len(sql) > maxStatement {
		return nil, nil, fmt.Errorf("sql: expected at most %d bytes, got %d", maxStatement, len(sql))
	}
	tokens, err := d.syntax.scan(sql)
	if err != nil {
		return nil, nil, fmt.Errorf("sql: %w", err)
	}
	isEnd := func(t token) bool { return t.kind == symbol && t.text == ";" }
	for len(tokens) > 0 && isEnd(tokens[len(tokens)-1]) {
		sql = sql[:tokens[len(tokens)-1].begin]
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return nil, nil, errors.New("sql: there is no statement")
	}
	if slices.ContainsFunc(tokens, isEnd) {
		return nil, nil, errors.New("sql: there is more than one statement; call once for each")
	}
	s := &statement{text: sql}
	for i, t := range tokens[:len(tokens)-1] {
		if next := tokens[i+1]; next.kind == symbol && next.text == "(" {
			switch {
			case t.kind == word:
				s.functions = append(s.functions, strings.ToLower(t.text))
			case t.kind == quoted:
				s.functions = append(s.functions, t.text)
			}
		}
	}
	return tokens, s, nil
}

// firstWord returns the first word of a statement, skipping opening parentheses.
func firstWord(tokens []token) string {
	for _, t := range tokens {
		if t.kind == word {
			return t.text
		}
		if t.kind != symbol || t.text != "(" {
			return t.text
		}
	}
	return ""
}
