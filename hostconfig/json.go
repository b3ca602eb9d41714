package hostconfig

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

func parseJSON(data []byte) (*node, error) {
	rest, offset := withoutMark(data)
	if !utf8.Valid(rest) {
		return nil, errors.New("the file is not UTF-8")
	}
	root, err := hujson.Parse(rest)
	if err != nil {
		words := strings.TrimPrefix(err.Error(), "hujson: ")
		if before, _, found := strings.Cut(words, "invalid literal: "); found { // the literal may be a secret
			words = before + "invalid string, number or word"
		}
		return nil, fmt.Errorf("not JSON: %s", words)
	}
	return ofJSON(root, offset), nil
}

func ofJSON(v hujson.Value, offset int) *node {
	n := &node{start: v.StartOffset + offset, end: v.EndOffset + offset}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = object
		for _, m := range value.Members {
			inner := ofJSON(m.Value, offset)
			n.members = append(n.members, member{name: m.Name.Value.(hujson.Literal).String(), start: m.Name.StartOffset + offset, end: inner.end, value: inner})
		}
	case *hujson.Array:
		n.kind = list
		for _, item := range value.Elements {
			n.items = append(n.items, ofJSON(item, offset))
		}
	case hujson.Literal:
		if n.text = string(value); value.Kind() == '"' {
			n.kind, n.text = text, value.String()
		}
	}
	return n
}
