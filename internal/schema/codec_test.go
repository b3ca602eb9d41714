package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDecodeErrorsNameThePathAndTheRemedy(t *testing.T) {
	type in struct {
		Days int            `json:"days"`
		Tiny int8           `json:"tiny"`
		When time.Time      `json:"when"`
		Span time.Duration  `json:"span"`
		List []item         `json:"list"`
		Data []byte         `json:"data"`
		Map  map[string]int `json:"map"`
	}
	for _, c := range []struct{ raw, want string }{
		{`{"days":1.0,"tiny":1e1,"list":[{"name":"1.0"}]}`, ``},
		{`{"days":1.5}`, `days: expected integer written without fraction, got 1.5`},
		{`{"tiny":1000}`, `tiny: expected integer that fits int8, got 1000`},
		{`{"days":"1"}`, `days: expected integer, got "1"`},
		{`{"when":"yesterday"}`, `when: expected date and time such as 2006-01-02T15:04:05Z, got "yesterday"`},
		{`{"span":"long"}`, `span: expected duration such as PT1H30M or 90s, got "long"`},
		{` {"span":"long"}`, `span: expected duration such as PT1H30M or 90s, got "long"`},
		{"\n [1]", `expected object, got an array of 1 item`},
		{`{"span":90}`, `span: expected duration such as PT1H30M or 90s, got 90`},
		{`{"list":[{"name":"a"},{"name":true}]}`, `list[1].name: expected string, got true`},
		{`{"list":[{"nom":"a"}]}`, `list[0].nom: unknown member`},
		{`{"Days":1}`, `Days: unknown member`},
		{`{"map":{"a":1,"a":2}}`, `map.a: expected each member once, got it twice`},
		{`{"days":1,"days":2}`, `days: expected each member once, got it twice`},
		{`{"list":{}}`, `list: expected array, got an object`},
		{`[]`, `expected object, got an array of 0 items`},
	} {
		var v in
		err := Decode([]byte(c.raw), &v)
		if text(err) != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.raw, err, c.want)
		}
		var list *Error
		if err != nil && !errors.As(err, &list) {
			t.Errorf("%s: %T is no *Error", c.raw, err)
		}
	}
	for _, raw := range []string{``, `{`, `{"days":1}x`, "{\"list\":[{\"name\":\"\xff\"}]}"} {
		var v in
		if err := Decode([]byte(raw), &v); err == nil || !strings.HasPrefix(err.Error(), "not valid JSON: ") {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestIntegersInDisguiseAreDecoded(t *testing.T) {
	for raw, want := range map[string]int64{
		`1.0`: 1, `-2.50e1`: -25, `1e3`: 1000, `0.0`: 0, `-0.0`: 0, `9223372036854775807`: 1<<63 - 1,
		`9.223372036854775807e18`: 1<<63 - 1, `1200e-2`: 12, `0e5`: 0,
	} {
		var n int64
		if err := Decode([]byte(raw), &n); err != nil || n != want {
			t.Errorf("%s is %d, %v", raw, n, err)
		}
	}
	var u uint8
	if err := Decode([]byte(`2.56e2`), &u); text(err) != `expected integer that fits uint8, got 256` {
		t.Error(err)
	}
	var pair struct {
		N int             `json:"n"`
		F float64         `json:"f"`
		R json.RawMessage `json:"r"`
	}
	if err := Decode([]byte(`{"f":1.5,"n":2.0,"r":"2.0"}`), &pair); err != nil || pair.N != 2 || pair.F != 1.5 || string(pair.R) != `"2.0"` {
		t.Error(pair, err)
	}
}

func TestLooseDecodingIgnoresUnknownMembersOnly(t *testing.T) {
	var v item
	if err := DecodeLoose([]byte(`{"name":"a","more":1}`), &v); err != nil || v.Name != "a" {
		t.Error(v, err)
	}
	if err := DecodeLoose([]byte(`{"name":"a","name":"b"}`), &v); err == nil {
		t.Error("a duplicate name passed")
	}
	if err := DecodeLoose([]byte(`{"Name":"A"}`), &v); err != nil || v.Name == "A" {
		t.Error("names are not case-sensitive", v, err)
	}
}

func TestEncodeAppendsInTheDialect(t *testing.T) {
	type out struct {
		List  []int          `json:"list"`
		Map   map[string]int `json:"map"`
		Zero  int            `json:"zero,omitempty"`
		False bool           `json:"false,omitempty"`
		Span  time.Duration  `json:"span"`
		HTML  string         `json:"html"`
	}
	got, err := Encode([]byte("data: "), out{Span: 90 * time.Second, HTML: "<&>"})
	if want := `data: {"list":[],"map":{},"span":"PT1M30S","html":"<&>"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := Encode([]byte("kept"), make(chan int)); err == nil || string(got) != "kept" || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestDurationsAreReadInBothNotations(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"PT0S": 0, "PT1H30M": 90 * time.Minute, "P1DT1H": 25 * time.Hour, "P2W": 336 * time.Hour, "-PT1.5S": -1500 * time.Millisecond,
		"P1D": 24 * time.Hour, "1h30m": 90 * time.Minute, "-90s": -90 * time.Second, "PT0.000000001S": 1,
	} {
		if got, err := parseDuration(s); err != nil || got != want {
			t.Errorf("%s is %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "P", "PT", "P1Y", "P1M", "P1DT", "PT1D", "P-1D", "P1.5D", "PT1ms", "90", "P99999999999W", "PT1H30", "--PT1S", "PT-1S"} {
		if got, err := parseDuration(s); err == nil {
			t.Errorf("%s is %v", s, got)
		}
	}
}

func FuzzDuration(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(-1 << 63))
	f.Add(int64(90061000000001))
	f.Fuzz(func(t *testing.T, n int64) {
		text := formatDuration(time.Duration(n))
		if back, err := parseDuration(text); err != nil || int64(back) != n {
			t.Fatalf("%d is %s is %d, %v", n, text, back, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(searchArguments))
	f.Add([]byte(`{"limit":1.0,"filters":[{"op":1e0}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in searchIn
		if Decode(raw, &in) != nil {
			return
		}
		text, err := Encode(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		var back searchIn
		if err := Decode(text, &back); err != nil {
			t.Fatalf("%s became %s: %v", raw, text, err)
		}
	})
}
