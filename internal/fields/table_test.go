package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample has a field of each kind: always written, omitted if zero, and omitted if empty.
type sample struct {
	Text    string          `json:"text" doc:"a text of 'words' that is the client's"`
	Text2   string          `json:"text2,omitzero" doc:"one | two"`
	Number  int             `json:"number"`
	Number2 int             `json:"number2,omitempty"`
	Long    int64           `json:"long"`
	Long2   time.Duration   `json:"long2,omitzero"`
	Natural uint64          `json:"natural"`
	Nat2    uint64          `json:"nat2,omitempty"`
	Part    float64         `json:"part"`
	Part2   float64         `json:"part2,omitzero"`
	Truth   bool            `json:"truth"`
	Truth2  bool            `json:"truth2,omitempty"`
	Time    time.Time       `json:"time"`
	Time2   time.Time       `json:"time2,omitzero"`
	Raw     json.RawMessage `json:"raw"`
	Raw2    json.RawMessage `json:"raw2,omitzero"`
	Raw3    json.RawMessage `json:"raw3,omitempty"`
	List    []string        `json:"list,omitzero"`
	List2   []string        `json:"list2,omitempty"`
	Inner   *inner          `json:"inner"`
	Inner2  *inner          `json:"inner2,omitzero"`
	Left    func()          `json:"-"`
	private int
}

type inner struct {
	A string `json:"a b,omitzero"`
	B int64  `json:"b"`
}

var samples = Of[sample]()

// random returns a sample with about every second field zero.
func random(r *rand.Rand) *sample {
	texts := []string{"", "", "a", "é\n\"\\", "<>&\t", strings.Repeat("x", 100)}
	raws := []json.RawMessage{nil, nil, json.RawMessage(`{"a":[1,"b"]}`), json.RawMessage("0"), json.RawMessage(`""`)}
	text := func() string { return texts[r.IntN(len(texts))] }
	number := func() int64 { return []int64{0, 0, -1, r.Int64(), 7}[r.IntN(5)] }
	list := func() []string { return [][]string{nil, {}, {text()}, {text(), text()}}[r.IntN(4)] }
	at := func() time.Time {
		return []time.Time{{}, time.Unix(r.Int64N(1<<32), r.Int64N(1e9)).UTC(), time.Unix(r.Int64N(1<<32), 5e8).In(time.FixedZone("", 3600))}[r.IntN(3)]
	}
	in := func() *inner { return []*inner{nil, {text(), number()}}[r.IntN(2)] }
	raw := func() json.RawMessage { return raws[r.IntN(len(raws))] }
	return &sample{Text: text(), Text2: text(), Number: int(number()), Number2: int(number()), Long: number(), Long2: time.Duration(number()), Natural: uint64(number()), Nat2: uint64(number()),
		Part: float64(number()%1000) / 8, Part2: float64(number()%1000) / 8, Truth: r.IntN(2) == 0, Truth2: r.IntN(2) == 0, Time: at(), Time2: at(), Raw: raw(), Raw2: raw(), Raw3: raw(),
		List: list(), List2: list(), Inner: in(), Inner2: in(), private: 1}
}

func TestStructsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		v := random(r)
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			t.Fatal(err)
		}
		if got := string(samples.Append([]byte("x"), v, nil)) + "\n"; got != "x"+want.String() {
			t.Fatalf("got\n%swant\nx%s", got, want.String())
		}
	}
}

// shouting hides values by capitals.
type shouting struct{}

func (shouting) Text(value string) string { return strings.ToUpper(value) }
func (shouting) JSON(value json.RawMessage) json.RawMessage {
	return json.RawMessage(`"` + strings.ToUpper(string(value[1:len(value)-1])) + `"`)
}

func TestTagsChangeHowFieldsAreWritten(t *testing.T) {
	type part struct {
		Text string `json:"text" redact:"secrets"`
	}
	type tagged struct {
		At     time.Time       `json:"at" layout:"2006-01-02T15:04:05.000Z"`
		Took   time.Duration   `json:"-" field:"took_us,omitzero" unit:"us"`
		Open   string          `json:"open"`
		Hidden string          `json:"hidden" redact:"secrets"`
		Raw    json.RawMessage `json:"raw" redact:"secrets"`
		List   []string        `json:"list" redact:"secrets"`
		Part   *part           `json:"part"`
	}
	table := Of[tagged]()
	at := time.Date(2026, 11, 29, 3, 4, 5, 6_700_000, time.FixedZone("", 3600))
	v := tagged{At: at, Took: 1_500_999, Open: "a", Hidden: "b", Raw: json.RawMessage(`"c"`), List: []string{"d"}, Part: &part{"e"}}
	for hider, want := range map[Hider]string{
		nil:        `{"at":"2026-11-29T02:04:05.006Z","took_us":1500,"open":"a","hidden":"b","raw":"c","list":["d"],"part":{"text":"e"}}`,
		shouting{}: `{"at":"2026-11-29T02:04:05.006Z","took_us":1500,"open":"a","hidden":"B","raw":"C","list":["D"],"part":{"text":"E"}}`,
	} {
		if got := string(table.Append(nil, &v, hider)); got != want {
			t.Errorf("with %v got\n%s, want\n%s", hider, got, want)
		}
	}
	table.Texts(&v, func(n int, class string, value *string) { *value += fmt.Sprint(n, class) })
	if v.Open != "a" || v.Hidden != "b0secrets" {
		t.Errorf("got %+v", v)
	}
	v.Hidden = "b"
	if got := string(table.Append(nil, &tagged{At: at, Took: 999}, nil)); strings.Contains(got, "took_us") {
		t.Errorf("less than a unit is not omitted: %s", got)
	}
	written := table.Append(nil, &v, nil)
	for name, want := range map[string]string{"took_us": "1.5ms", "open": "a", "list": `["d"]`} {
		for _, f := range table.Fields() {
			if got := f.Text(written); f.Name == name && got != want {
				t.Errorf("%s is shown as %q, want %q", name, got, want)
			}
		}
	}
}

func TestUnsupportedTypesPanic(t *testing.T) {
	for name, make := range map[string]func(){
		"a map": func() {
			Of[struct {
				A map[string]int `json:"a"`
			}]()
		},
		"a struct": func() {
			Of[struct {
				A struct{} `json:"a"`
			}]()
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s has a table", name)
				}
			}()
			make()
		}()
	}
}

func TestTablesOfPages(t *testing.T) {
	rows := strings.Split(samples.Markdown(), "\n")
	if len(rows) != reflect.TypeFor[sample]().NumField()-2+1 || rows[0] != "| `text` | a text of `words` that is the client's |" || rows[1] != `| `+"`text2`"+` | one \| two |` {
		t.Errorf("the table is %q", rows)
	}
}

func BenchmarkAppend(b *testing.B) {
	v := random(rand.New(rand.NewPCG(1, 2)))
	buf := make([]byte, 0, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		buf = samples.Append(buf[:0], v, nil)
	}
}

// Raw JSON without a byte would make the whole line invalid.
func TestEmptyRawJSONIsNull(t *testing.T) {
	empty := json.RawMessage{}
	got := string(samples.Append(nil, &sample{Raw: empty, Raw2: empty, Raw3: empty}, nil))
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"raw":null,"raw2":null,`) || strings.Contains(got, "raw3") {
		t.Errorf("got %s", got)
	}
}
