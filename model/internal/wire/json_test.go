package wire

import (
	"encoding/json"
	"testing"
)

func TestStringKeepsBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"caf\u00e9"`:                  "café",
		"\"caf\xc3\"":                  "caf\xc3",
		"\"\xa9 \\ud83d\\ude00 \\\\\"": "\xa9 😀 \\",
		`"\ud83d."`:                    "\ufffd.",
		`""`:                           "",
		`null`:                         "",
		`5`:                            "",
		``:                             "",
		`"`:                            "",
	} {
		if got := String([]byte(raw)); got != want {
			t.Errorf("%s is %q, not %q", raw, got, want)
		}
	}
}

func TestMarshalAddsMembers(t *testing.T) {
	t.Parallel()
	known := struct {
		A string `json:"a"`
		B int    `json:"b"`
	}{"<&>\xff", 2}
	got, err := Marshal(known, map[string]any{"z": 1, "b": true, `q"\`: json.RawMessage(`[ 1 ]`)})
	if want := `{"a":"<&>\ufffd","b":true,"q\"\\":[1],"z":1}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; not %s", got, err, want)
	}
	if _, err := Marshal(known, map[string]any{"f": func() {}}); err == nil {
		t.Error("a function is written as JSON")
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{`{"n":7}`: 7, `{"n":7.9}`: 7, `{"n":-1}`: 0, `{"n":1e300}`: 1<<31 - 1, `{"n":"7"}`: 0, `{}`: 0, `null`: 0} {
		if got := Number([]byte(raw), "n"); got != want {
			t.Errorf("%s is %d, not %d", raw, got, want)
		}
	}
}

func TestUnknownMembersReturnToTheirProvider(t *testing.T) {
	raw := []byte(`{"id":"1","signature":"x","none":null}`)
	if got := Extra("p", MembersBut(raw, "id")); len(got["p"]) != 1 || string(got["p"]["signature"]) != `"x"` {
		t.Errorf("%s", got)
	}
	if got := Extra("p", MembersBut(raw, "id", "signature")); got != nil {
		t.Errorf("%s", got)
	}
}
