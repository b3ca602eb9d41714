package jsonrpc

import "testing"

func TestDecimalIsTheSameForAllSpellings(t *testing.T) {
	for want, spellings := range map[string][]string{
		"0":                   {"0", "-0", "0.00", "0e9"},
		"1":                   {"1", "1.0", "1e0", "10e-1", "0.1E+1"},
		"-12e-1":              {"-1.2", "-1.20", "-12e-1"},
		"1e2":                 {"100", "1e2", "100.0"},
		"9007199254740993":    {"9007199254740993", "9007199254740993.0"},
		"9007199254740993e-1": {"900719925474099.3"},
		"1e99999999999":       {"1e99999999999"},
	} {
		for _, spelling := range spellings {
			if got := Decimal(spelling); got != want {
				t.Errorf("%s is %s, want %s", spelling, got, want)
			}
		}
	}
}
