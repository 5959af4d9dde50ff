// This file computes how much memory an object will need, before it is decoded. An empty Pod in a PodList is two bytes of
// protobuf, but more than a thousand bytes in memory.

package protobuf

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// heaviest limits the memory of a decoded object, in bytes. Its conversion to JSON needs up to eight times as much. API servers
// accept objects of up to 3 MiB.
const heaviest = 8 << 20

// mapEntry is the memory of an entry of a map without its key and value, in bytes.
const mapEntry = 32

var (
	errHeavy = fmt.Errorf("it needs more than %d bytes in memory", heaviest)
	errGroup = errors.New("it has a group, which no kind has")
)

// weigh checks text, an object of this kind in protobuf. If text is not valid, or would need more than heaviest when
// decoded, weigh returns an error.
func (c *Converter) weigh(kind schema.GroupVersionKind, text []byte) error {
	object, err := c.scheme.New(kind)
	if err != nil {
		return err
	}
	s := scale{left: heaviest - len(text), parts: map[reflect.Type]map[protowire.Number]part{}}
	return s.message(reflect.TypeOf(object).Elem(), text)
}

// A part is the memory of a field of a message.
type part struct {
	// size is the memory of one value without its text, in bytes.
	size int
	// Field of is the type of the value if the value is a message itself. Nil: the value is a number or text.
	of reflect.Type
}

// A scale subtracts the memory of messages from field left, in bytes. Field parts caches the result of partsOf.
type scale struct {
	left  int
	parts map[reflect.Type]map[protowire.Number]part
}

// message subtracts the memory of a message that is decoded as t. If text is not valid, or if a decoder may interpret it in
// another way, message returns an error.
func (s *scale) message(t reflect.Type, text []byte) error {
	if s.parts[t] == nil {
		s.parts[t] = partsOf(t)
	}
	for len(text) > 0 {
		number, wire, n := protowire.ConsumeTag(text)
		if n < 0 {
			return protowire.ParseError(n)
		}
		text = text[n:]
		if wire == protowire.StartGroupType {
			return errGroup
		}
		if n = protowire.ConsumeFieldValue(number, wire, text); n < 0 {
			return protowire.ParseError(n)
		}
		value := text[:n]
		text = text[n:]
		p := s.parts[t][number]
		if s.left -= p.size; s.left < 0 {
			return errHeavy
		}
		if p.of != nil && wire == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(value)
			if err := s.message(p.of, inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsOf returns the fields of t, a message, by their number.
func partsOf(t reflect.Type) map[protowire.Number]part {
	out := map[protowire.Number]part{}
	switch t.Kind() {
	case reflect.Map: // Protobuf encodes each entry of a map as a message.
		out[2] = part{0, message(t.Elem())}
	case reflect.Slice: // t is a message that contains only a list, such as an ExtraValue.
		out[1] = element(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			words := strings.Split(t.Field(i).Tag.Get("protobuf"), ",") // such as "bytes,1,rep,name=items"
			if len(words) < 3 {
				continue
			}
			number, err := strconv.Atoi(words[1])
			if err != nil {
				continue
			}
			of := t.Field(i).Type
			p := part{0, message(of)}
			switch {
			case of.Kind() == reflect.Pointer:
				p.size = int(of.Elem().Size())
			case of.Kind() == reflect.Map:
				p = part{int(of.Key().Size()+of.Elem().Size()) + mapEntry, of}
			case of.Kind() == reflect.Slice && words[2] == "rep":
				p = element(of.Elem())
			}
			out[protowire.Number(number)] = p
		}
	}
	return out
}

// element returns the part for one element of a list of t.
func element(t reflect.Type) part {
	size := t.Size()
	if t.Kind() == reflect.Pointer {
		size += t.Elem().Size()
	}
	return part{int(size), message(t)}
}

// message returns the type of the message that a value of t is or points to. Nil: it is not a message.
func message(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		return t
	}
	return nil
}
