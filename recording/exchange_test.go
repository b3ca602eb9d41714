package recording

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestExchangesHoldTheMessagesOfEachCall(t *testing.T) {
	r, err := Read(strings.NewReader(head + strings.Join([]string{
		`{"ms":1,"event":"request","call":1,"capabilities":["roots","teleport","elicitation","roots"],"server":"a","method":"tools/call","params":{"name":"x"}}`,
		`{"ms":1,"event":"request","call":2,"server":"b","method":"tools/list"}`,
		`{"ms":2,"event":"notification","call":1,"method":"notifications/progress","params":{"progress":1}}`,
		`{"ms":3,"event":"serverRequest","call":1,"ask":1,"method":"elicitation/create","params":{"message":"who"}}`,
		`{"ms":4,"event":"clientResponse","call":1,"ask":1,"result":{"action":"decline"}}`,
		`{"ms":5,"event":"error","call":2,"error":{"code":-32601,"message":"no"}}`,
		`{"ms":6,"event":"result","call":1,"result":{"content":[]}}`,
		`{"ms":7,"event":"request","call":3,"server":"a","method":"ping"}`,
		`{"ms":8,"event":"cancelled","call":3}`,
		`{"ms":9,"event":"request","call":4,"server":"a","method":"ping","omittedBytes":9}`,
	}, "\n") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r.Exchanges())
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	want, err := json.Marshal([]object{
		{"Server": "a", "Method": "tools/call", "Params": object{"name": "x"}, "Capabilities": []string{"elicitation", "roots"}, "Err": nil, "Result": object{"Type": "", "JSON": object{"content": []any{}}, "Value": nil, "Meta": nil, "TTL": 0, "Scope": ""},
			"Notifications": []object{{"Method": "notifications/progress", "Params": object{"progress": 1}, "Result": nil, "Err": nil}},
			"Asked":         []object{{"Method": "elicitation/create", "Params": object{"message": "who"}, "Result": object{"action": "decline"}, "Err": nil}}},
		{"Server": "b", "Method": "tools/list", "Params": nil, "Capabilities": nil, "Result": nil, "Err": object{"Code": -32601, "Message": "no", "Data": nil, "Server": ""}, "Notifications": nil, "Asked": nil},
		{"Server": "a", "Method": "ping", "Params": nil, "Capabilities": nil, "Result": nil, "Err": nil, "Notifications": nil, "Asked": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil {
		t.Fatal("no JSON")
	}
	a2, _ := json.Marshal(a)
	b2, _ := json.Marshal(b)
	if string(a2) != string(b2) {
		t.Errorf("got\n%s\nwant\n%s", a2, b2)
	}
}
