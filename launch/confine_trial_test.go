package launch

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestTextsOfFailures(t *testing.T) {
	for value, want := range map[string][]string{
		``:            nil,
		`"/a \u00e9"`: {"/a é"},
		`{"a": [1, "b", {"c": "d", "e": null}], "f": true, "g": "h"}`: {"b", "d", "h"},
		`[[["x"]], `: {"x"},
	} {
		if got := AppendTexts(nil, []byte(value)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", value, got, want)
		}
	}
	many, err := json.Marshal(make([]string, 2*maxFailTexts))
	if err != nil {
		t.Fatal(err)
	}
	if got := AppendTexts(nil, many); len(got) != maxFailTexts {
		t.Errorf("%d are found", len(got))
	}
}
