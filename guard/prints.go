package guard

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// maxPrints is the number of fingerprints in a Flow: those of about 400 KiB of private text.
	maxPrints = 1 << 15
	// printLength is the length of the text of one fingerprint, in letters and digits.
	printLength = 40
	// printWindow is the number of successive hashes of which one is kept. Any copy of
	// printLength+printWindow-1 = 63 characters has at least one fingerprint in common with the
	// original.
	printWindow = 24
	// printFactor is the base of the rolling hash.
	printFactor = 0x9e3779b97f4a7c15
)

// prints holds the sorted fingerprints of a text. They are hashes of pieces, and also match a copy
// with other punctuation, spaces or case.
type prints []uint64

// fingerprintsOf returns the fingerprints of a text.
func fingerprintsOf(text string) prints {
	var ring [printLength]uint64
	var hashes [printWindow]uint64
	leaving := uint64(1)
	for range printLength {
		leaving *= printFactor
	}
	var found prints
	hash, least, n := uint64(0), uint64(math.MaxUint64), 0
	for _, r := range text {
		if r < utf8.RuneSelf && !isLetter(byte(r)) && !isDigit(byte(r)) || r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			continue
		}
		c := uint64(unicode.ToLower(r)) + 1
		hash = hash*printFactor + c - ring[n%printLength]*leaving
		ring[n%printLength] = c
		if n++; n < printLength {
			continue
		}
		gone := hashes[n%printWindow]
		hashes[n%printWindow] = scramble(hash)
		if n < printLength+printWindow-1 {
			continue
		}
		if fresh := hashes[n%printWindow]; fresh < least {
			least = fresh
		} else if gone == least || len(found) == 0 {
			least = slices.Min(hashes[:])
		}
		if len(found) == 0 || found[len(found)-1] != least {
			found = append(found, least)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// scramble mixes the bits of a hash, so that the lowest values do not favour certain texts.
func scramble(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// add returns p with at most room more fingerprints of a text. all reports whether every
// fingerprint fit.
func (p prints) add(text string, room int) (_ prints, all bool) {
	if len(text) > maxText {
		text, all = text[:maxText], false
	} else {
		all = true
	}
	fresh := slices.DeleteFunc(fingerprintsOf(text), func(h uint64) bool {
		_, known := slices.BinarySearch(p, h)
		return known
	})
	if len(fresh) > max(0, room) {
		fresh, all = fresh[:max(0, room)], false
	}
	p = slices.Concat(p, fresh)
	slices.Sort(p)
	return p, all
}

// overlap reports whether p and other share a fingerprint.
func (p prints) overlap(other prints) bool {
	for _, h := range other {
		if _, found := slices.BinarySearch(p, h); found {
			return true
		}
	}
	return false
}

// MarshalText encodes fingerprints as base64.
func (p prints) MarshalText() ([]byte, error) {
	var raw []byte
	for _, h := range p {
		raw = binary.BigEndian.AppendUint64(raw, h)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes the output of MarshalText.
func (p *prints) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("fingerprints: %w", err)
	}
	if len(raw)%8 != 0 {
		return fmt.Errorf("fingerprints: %d bytes are not a multiple of 8", len(raw))
	}
	*p = make(prints, 0, len(raw)/8)
	for ; len(raw) > 0; raw = raw[8:] {
		*p = append(*p, binary.BigEndian.Uint64(raw))
	}
	slices.Sort(*p)
	return nil
}

// unquoted returns the strings in JSON, joined. Text that is not JSON is returned unchanged.
func unquoted(raw []byte) string {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return string(raw)
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			_, size := utf8.DecodeRune(raw[i:])
			i += size
			continue
		}
		end, _ := jsonrpc.SkipValue(raw, i)
		b.WriteString(text(raw[i:end]))
		b.WriteByte(' ')
		i = end
	}
	return b.String()
}
