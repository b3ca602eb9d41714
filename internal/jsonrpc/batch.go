package jsonrpc

import "encoding/json"

// IsBatch reports whether data is a batch, that is, whether its first byte after white space is
// '['.
func IsBatch(data []byte) bool {
	i := SkipSpace(data, 0)
	return i < len(data) && data[i] == '['
}

// SplitBatch returns the elements of a batch, in order, as sub-slices of data. It returns an
// [InvalidRequest] error for an empty array, for more than max elements, and for a value that is
// not an array. It returns a [ParseError] for malformed JSON. It accepts elements with repeated
// member names; [Parse] rejects such an element alone.
func SplitBatch(data []byte, max int, l Limits) ([]json.RawMessage, *Error) {
	s := newScanner(data, l)
	if s.document(nil, nil); s.err != nil {
		return nil, s.err
	}
	if !IsBatch(data) {
		return nil, expected(InvalidRequest, data, SkipSpace(data, 0), "a batch")
	}
	var elements []json.RawMessage
	EachElement(data, func(value []byte) bool {
		elements = append(elements, value)
		return len(elements) <= max
	})
	if len(elements) == 0 {
		return nil, Errorf(InvalidRequest, "expected a batch with at least one message, found an empty array")
	}
	if len(elements) > max {
		return nil, Errorf(InvalidRequest, "expected a batch of at most %d messages, found more", max)
	}
	return elements, nil
}
