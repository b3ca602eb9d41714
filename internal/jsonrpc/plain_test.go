package jsonrpc

import "testing"

func TestBooleansAreNoIDs(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":false,"result":{}}`,
		`{"jsonrpc":"2.0","id":true,"error":{"code":1,"message":"no"}}`,
	} {
		if m, fault := ParseLoose([]byte(text), Limits{}, OddAny); fault == nil {
			t.Errorf("%s is read with the id %s", text, m.ID)
		}
	}
	for _, code := range []string{`"0x.e"`, `"-."`, `"1.e"`} {
		text := `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"no"}}`
		m, fault := ParseLoose([]byte(text), Limits{}, OddAny)
		if fault != nil || m.Error.Code != InternalError {
			t.Errorf("%s: got %v, %v, want %d", text, m.Error, fault, InternalError)
		}
	}
}
