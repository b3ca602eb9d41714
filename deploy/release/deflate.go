package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"
	"runtime"
	"slices"
	"sync"
)

// Limits of the format (RFC 1951).
const (
	window      = 32 << 10
	minMatch    = 3
	maxMatch    = 258
	endOfBlock  = 256
	maxCode     = 15 // bits of a code of symbols
	maxCodeCode = 7  // bits of a code of lengths of codes
)

// How much the search does. Twice as much finds 0.2 % more.
const (
	chunkSize   = 1 << 20 // bytes that are searched together
	segmentSize = 8 << 10 // the smallest block
	searchDepth = 100     // places that are compared
	rounds      = 3       // searches of a block, each with the prices that the last one led to
	long        = 64      // bytes of a copy that is used whole or not at all
)

// A token is a byte, if distance is 0, or else a copy of length bytes.
type token struct{ length, distance uint16 }

// symbol returns the token's symbol among bytes and lengths, and its extra bits.
func (t token) symbol() (symbol int, extra uint, value uint64) {
	switch x := int(t.length) - minMatch; {
	case t.distance == 0:
		return int(t.length), 0, 0
	case t.length == maxMatch:
		return 285, 0, 0
	case x < 8:
		return 257 + x, 0, 0
	default:
		e := bits.Len(uint(x)) - 3
		return 257 + 4*e + 4 + x>>e&3, uint(e), uint64(x & (1<<e - 1))
	}
}

// distanceSymbol returns the symbol of a distance, and its extra bits.
func distanceSymbol(distance uint16) (symbol int, extra uint, value uint64) {
	x := int(distance) - 1
	if x < 4 {
		return x, 0, 0
	}
	e := bits.Len(uint(x)) - 2
	return 2*e + 2 + x>>e&1, uint(e), uint64(x & (1<<e - 1))
}

// Counts are how often a block has each symbol.
type counts struct {
	literals  [286]int
	distances [30]int
}

func countsOf(tokens []token) *counts {
	c := new(counts)
	c.literals[endOfBlock] = 1
	for _, t := range tokens {
		symbol, _, _ := t.symbol()
		c.literals[symbol]++
		if t.distance > 0 {
			symbol, _, _ = distanceSymbol(t.distance)
			c.distances[symbol]++
		}
	}
	return c
}

// with returns the counts of two blocks together.
func (c *counts) with(other *counts) *counts {
	sum := *c
	for i, n := range other.literals {
		sum.literals[i] += n
	}
	for i, n := range other.distances {
		sum.distances[i] += n
	}
	return &sum
}

// size returns about how many bits a block takes without its extra bits, in the unit of log.
func (c *counts) size() int {
	size := 60 * unit
	for _, list := range [][]int{c.literals[:], c.distances[:]} {
		total := 0
		for _, n := range list {
			total += n
		}
		for _, n := range list {
			if n > 0 {
				size += n*(log(total)-log(n)) + 4*unit // and a length in the head
			}
		}
	}
	return size
}

// unit is a bit, in the unit of log.
const unit = 64

// log returns the logarithm of n to the base 2, times unit. It uses no floating point, whose last bits
// differ between machines.
func log(n int) int {
	e := bits.Len(uint(n)) - 1
	x, result := uint64(n)<<(31-e), e
	for range 6 {
		x = x * x >> 31
		result <<= 1
		if x >= 1<<32 {
			x >>= 1
			result |= 1
		}
	}
	return result
}

// Prices are about how many bits tokens take, in the unit of log.
type prices struct {
	literals  [256]int
	lengths   [maxMatch + 1]int
	distances [30]int
}

func (c *counts) prices() *prices {
	p := new(prices)
	price := func(list []int) func(symbol int) int {
		total := 1
		for _, n := range list {
			total += n
		}
		return func(symbol int) int { return log(total) - log(max(list[symbol], 1)) }
	}
	literal, distance := price(c.literals[:]), price(c.distances[:])
	for i := range p.literals {
		p.literals[i] = literal(i)
	}
	for length := minMatch; length <= maxMatch; length++ {
		symbol, extra, _ := token{uint16(length), 1}.symbol()
		p.lengths[length] = literal(symbol) + int(extra)*unit
	}
	for symbol := range p.distances {
		p.distances[symbol] = distance(symbol) + max(symbol/2-1, 0)*unit
	}
	return p
}

// A chunk is a part of the data, with the copies that can begin at each of its bytes: each is longer
// and farther away than the one before it.
type chunk struct {
	data     []byte // all
	from, to int
	first    []int32 // copies of the byte at from+i begin at first[i]
	copies   []token
}

// find finds the copies.
func (c *chunk) find() {
	begin := max(0, c.from-window)
	var heads [1 << 16]int32 // the last place of four bytes, plus 1
	var nears [1 << 15]int32 // the last place of three bytes, plus 1
	before := make([]int32, c.to-begin)
	for i := begin; i < c.to; i++ {
		if i >= c.from {
			c.first = append(c.first, int32(len(c.copies)))
		}
		if i+4 > len(c.data) {
			continue
		}
		four := binary.LittleEndian.Uint32(c.data[i:])
		head, near := &heads[four*0x9e3779b1>>16], &nears[four<<8*0x9e3779b1>>17]
		if i >= c.from {
			c.findAt(i, begin, int(*near)-1, int(*head)-1, before)
		}
		before[i-begin] = *head
		*head, *near = int32(i+1), int32(i+1)
	}
	c.first = append(c.first, int32(len(c.copies)))
}

// findAt finds the copies of a place. Near and head are places that may have its first three and
// four bytes.
func (c *chunk) findAt(i, begin, near, head int, before []int32) {
	limit := min(maxMatch, c.to-i)
	best := minMatch - 1
	try := func(p int) {
		if best < limit && c.data[p+best] == c.data[i+best] {
			if n := common(c.data[p:p+limit], c.data[i:i+limit]); n > best {
				best = n
				c.copies = append(c.copies, token{uint16(n), uint16(i - p)})
			}
		}
	}
	if near >= begin && i-near <= window {
		try(near)
	}
	for p, n := head, 0; p >= begin && i-p <= window && n < searchDepth && best < limit; n++ {
		try(p)
		p = int(before[p-begin]) - 1
	}
}

// common returns the length of the common start of two texts of equal length.
func common(a, b []byte) int {
	n := 0
	for len(a) >= n+8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		n += 8
	}
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}

// cheapest returns the tokens for the bytes between two places that have the lowest sum of prices.
func (c *chunk) cheapest(from, to int, p *prices) []token {
	n := to - from
	sums, steps := make([]int, n+1), make([]token, n)
	for i := n - 1; i >= 0; i-- {
		at := from + i - c.from
		b := c.data[from+i]
		sum, step := p.literals[b]+sums[i+1], token{uint16(b), 0}
		length := minMatch
		for _, t := range c.copies[c.first[at]:c.first[at+1]] {
			symbol, _, _ := distanceSymbol(t.distance)
			price := p.distances[symbol]
			last := min(int(t.length), n-i)
			if last >= long {
				length = max(length, last)
			}
			for ; length <= last; length++ {
				if s := price + p.lengths[length] + sums[i+length]; s < sum {
					sum, step = s, token{uint16(length), t.distance}
				}
			}
		}
		sums[i], steps[i] = sum, step
	}
	var tokens []token
	for i := 0; i < n; {
		tokens = append(tokens, steps[i])
		i += steps[i].bytes()
	}
	return tokens
}

// bytes returns the number of bytes that the token stands for.
func (t token) bytes() int {
	if t.distance == 0 {
		return 1
	}
	return int(t.length)
}

// blocks returns the tokens of the chunk, in blocks.
func (c *chunk) blocks() [][]token {
	c.find()
	guess := new(counts) // about those of a program
	for i := range guess.literals {
		guess.literals[i] = 1
	}
	tokens := c.cheapest(c.from, c.to, guess.prices())
	tokens = c.cheapest(c.from, c.to, countsOf(tokens).prices())
	var blocks [][]token
	from := c.from
	for _, b := range divide(tokens) {
		for range rounds {
			tokens = c.cheapest(from, b.to+c.from, b.counts.prices())
			b.counts = countsOf(tokens)
		}
		from = b.to + c.from
		blocks = append(blocks, tokens)
	}
	return blocks
}

// A part is a block whose tokens may still change. It ends after that many bytes.
type part struct {
	counts *counts
	size   int
	to     int
}

// divide divides tokens into blocks: it joins neighbours as long as that makes both together smaller.
func divide(tokens []token) []part {
	var parts []part
	begin, bytes, end := 0, 0, 0
	for i, t := range tokens {
		bytes += t.bytes()
		end += t.bytes()
		if bytes >= segmentSize || i == len(tokens)-1 {
			n := countsOf(tokens[begin : i+1])
			parts = append(parts, part{n, n.size(), end})
			begin, bytes = i+1, 0
		}
	}
	join := func(i int) part { // the parts i and i+1
		n := parts[i].counts.with(parts[i+1].counts)
		return part{n, n.size(), parts[i+1].to}
	}
	joined := make([]part, 0, len(parts))
	for i := range max(len(parts)-1, 0) {
		joined = append(joined, join(i))
	}
	for len(joined) > 0 {
		best, gain := 0, 0
		for i, j := range joined {
			if g := parts[i].size + parts[i+1].size - j.size; g > gain {
				best, gain = i, g
			}
		}
		if gain == 0 {
			break
		}
		parts[best] = joined[best]
		parts, joined = slices.Delete(parts, best+1, best+2), slices.Delete(joined, best, best+1)
		for i := max(best-1, 0); i <= best && i < len(joined); i++ {
			joined[i] = join(i)
		}
	}
	return parts
}

// deflate compresses data, and finds 5 % more than compress/flate. Programs such as libdeflate-gzip do
// the same, but each version of them makes other bytes.
func deflate(data []byte) []byte {
	var chunks [][][]token
	for from := 0; from == 0 || from < len(data); from += chunkSize {
		chunks = append(chunks, nil)
	}
	var work sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range chunks {
		free <- struct{}{}
		work.Go(func() {
			defer func() { <-free }()
			c := &chunk{data: data, from: i * chunkSize, to: min((i+1)*chunkSize, len(data))}
			chunks[i] = c.blocks()
		})
	}
	work.Wait()
	blocks := slices.Concat(chunks...)
	if len(blocks) == 0 {
		blocks = [][]token{nil}
	}
	w := new(bitWriter)
	for i, tokens := range blocks {
		w.block(tokens, i == len(blocks)-1)
	}
	return w.bytes()
}

// A bitWriter collects bits, the lowest ones first.
type bitWriter struct {
	out  []byte
	bits uint64
	n    uint
}

func (w *bitWriter) write(value uint64, n uint) {
	w.bits |= value << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
}

// bytes returns what was written, with zeros up to a whole byte.
func (w *bitWriter) bytes() []byte {
	if w.n > 0 {
		return append(w.out, byte(w.bits))
	}
	return w.out
}

// block writes a block.
func (w *bitWriter) block(tokens []token, last bool) {
	c := countsOf(tokens)
	literals, distances := codeOf(c.literals[:], maxCode), codeOf(c.distances[:], maxCode)
	final := uint64(0)
	if last {
		final = 1
	}
	w.write(final|2<<1, 3)
	w.head(literals, distances)
	for _, t := range tokens {
		symbol, extra, value := t.symbol()
		w.write(literals[symbol].bits, literals[symbol].n)
		w.write(value, extra)
		if t.distance > 0 {
			symbol, extra, value = distanceSymbol(t.distance)
			w.write(distances[symbol].bits, distances[symbol].n)
			w.write(value, extra)
		}
	}
	w.write(literals[endOfBlock].bits, literals[endOfBlock].n)
}

// head writes the lengths of the codes.
func (w *bitWriter) head(literals, distances []code) {
	trim := func(codes []code, least int) []code {
		n := len(codes)
		for n > least && codes[n-1].n == 0 {
			n--
		}
		return codes[:n]
	}
	literals, distances = trim(literals, 257), trim(distances, 1)
	var lengths []uint
	for _, c := range append(slices.Clone(literals), distances...) {
		lengths = append(lengths, c.n)
	}
	type run struct {
		symbol int
		value  uint64
		extra  uint
	}
	var runs []run
	for i := 0; i < len(lengths); {
		n := 1
		for i+n < len(lengths) && lengths[i+n] == lengths[i] {
			n++
		}
		switch {
		case lengths[i] == 0 && n >= 11:
			n = min(n, 138)
			runs = append(runs, run{18, uint64(n - 11), 7})
		case lengths[i] == 0 && n >= 3:
			runs = append(runs, run{17, uint64(n - 3), 3})
		case i > 0 && lengths[i] == lengths[i-1] && n >= 3:
			n = min(n, 6)
			runs = append(runs, run{16, uint64(n - 3), 2})
		default:
			n = 1
			runs = append(runs, run{int(lengths[i]), 0, 0})
		}
		i += n
	}
	var often [19]int
	for _, r := range runs {
		often[r.symbol]++
	}
	codes := codeOf(often[:], maxCodeCode)
	order := []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	for len(order) > 4 && codes[order[len(order)-1]].n == 0 {
		order = order[:len(order)-1]
	}
	w.write(uint64(len(literals)-257), 5)
	w.write(uint64(len(distances)-1), 5)
	w.write(uint64(len(order)-4), 4)
	for _, symbol := range order {
		w.write(uint64(codes[symbol].n), 3)
	}
	for _, r := range runs {
		w.write(codes[r.symbol].bits, codes[r.symbol].n)
		w.write(r.value, r.extra)
	}
}

// A code is the code of a symbol: n bits, in the order in which they are written.
type code struct {
	bits uint64
	n    uint
}

// codeOf returns the best codes of at most limit bits for symbols that occur so often. It finds them
// by package-merge.
func codeOf(often []int, limit int) []code {
	type node struct {
		weight  int
		symbols []int
	}
	var leaves []node
	for symbol, n := range often {
		if n > 0 {
			leaves = append(leaves, node{n, []int{symbol}})
		}
	}
	for symbol := 0; len(leaves) < 2; symbol++ { // some readers want two
		if often[symbol] == 0 {
			leaves = append(leaves, node{1, []int{symbol}})
		}
	}
	byWeight := func(a, b node) int { return cmp.Compare(a.weight, b.weight) }
	slices.SortStableFunc(leaves, byWeight)
	list := leaves
	for range limit - 1 {
		merged := slices.Clone(leaves)
		for i := 0; i+1 < len(list); i += 2 {
			merged = append(merged, node{list[i].weight + list[i+1].weight, slices.Concat(list[i].symbols, list[i+1].symbols)})
		}
		slices.SortStableFunc(merged, byWeight)
		list = merged
	}
	codes := make([]code, len(often))
	for _, n := range list[:2*len(leaves)-2] {
		for _, symbol := range n.symbols {
			codes[symbol].n++
		}
	}
	next := uint64(0)
	for n := uint(1); n <= uint(limit); n++ {
		for symbol := range codes {
			if codes[symbol].n == n {
				codes[symbol].bits = bits.Reverse64(next) >> (64 - n)
				next++
			}
		}
		next <<= 1
	}
	return codes
}

// gzipped compresses data in the format of gzip.
func gzipped(data []byte) []byte {
	b := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255}, deflate(data)...)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(b, uint32(len(data)))
}

// A deflater compresses all that is written, once it is closed.
type deflater struct {
	bytes.Buffer
	to io.Writer
}

// Close writes the compressed data.
func (d *deflater) Close() error {
	_, err := d.to.Write(deflate(d.Bytes()))
	return err
}
