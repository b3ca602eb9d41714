package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxFollowed is how many references are followed one after the other.
const maxFollowed = 16

// resolve puts what $ref refers to in its place, where the dialect has none, or
// where the reference would lead nowhere once the root was rewritten. It returns
// how many references the schemas within are now within.
func (l *lowering) resolve(s *members, at string, said *words, always bool) int {
	resolved := 0
	for s.has("$ref") && resolved < maxFollowed {
		ref, _ := textOf(s.get("$ref"))
		target := l.target(ref)
		if target != nil && !always && !l.mustInline(ref) {
			return resolved
		}
		s.drop("$ref")
		l.repair(target, at, said)
		switch {
		case target == nil:
			l.changed(at, "$ref "+short(json.RawMessage(ref))+" leads nowhere, so anything is allowed")
			return resolved
		case slices.Contains(l.within, ref):
			l.changed(at, "$ref "+ref+" is recursive and was cut")
			said.add("again " + ref[strings.LastIndexByte(ref, '/')+1:])
			if t := target.get("type"); t != nil && !s.has("type") {
				s.set("type", t)
			}
			return resolved
		}
		l.changed(at, "$ref "+ref)
		l.within = append(l.within, ref)
		resolved++
		l.merge(s, target, said)
	}
	if resolved == maxFollowed {
		s.drop("$ref")
	}
	return resolved
}

// mustInline says whether a reference cannot stay.
func (l *lowering) mustInline(ref string) bool {
	if named := ref != "#" && !strings.HasPrefix(ref, "#/"); l.dialect.NoRefs || named && !l.dialect.takes("$anchor") {
		return true
	}
	name, stays := strings.CutPrefix(ref, "#/$defs/")
	if !stays {
		name, stays = strings.CutPrefix(ref, "#/definitions/")
	}
	return (l.dialect.PlainRoot || l.typed) && (!stays || strings.Contains(name, "/"))
}

// follow merges what the references of a schema lead to.
func (l *lowering) follow(s *members, at string, said *words) *members {
	s = s.clone()
	l.repair(s, at, said)
	resolved := l.resolve(s, at, said, true)
	l.within = l.within[:len(l.within)-resolved]
	return s
}

// maxResolved is how many bytes the targets of all references may add up to.
const maxResolved = 4 << 20

// target is the schema that a reference leads to, within this schema; nil if it
// leads elsewhere.
func (l *lowering) target(ref string) *members {
	here := l.root.Target(ref).Raw()
	if l.resolved += len(here); l.resolved > maxResolved {
		l.err = errSchemaWide
		return nil
	}
	return readMembers(here)
}
