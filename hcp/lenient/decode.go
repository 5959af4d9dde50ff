// This file decodes the fields of a projection independently: a field that cannot be decoded stays empty, and the
// others are decoded nevertheless.

package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
)

// decode decodes only the fields in p into out, a pointer to a struct. b must be valid JSON.
func decode(p *projection, b []byte, out any) []Unreadable {
	in := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d := decoder{in: in, root: reflect.ValueOf(out).Elem(), left: maxKept}
	d.object(p, d.root)
	slices.SortFunc(d.bad, func(a, b Unreadable) int { return strings.Compare(a.Field, b.Field) })
	return slices.Clone(slices.Compact(d.bad)) // Clone frees the array of d.bad, which may be very large.
}

// maxKept limits what is kept of one object, in bytes. A cache has many objects, and users can make each of them very large.
const maxKept = 128 << 10

type decoder struct {
	in   *jsontext.Decoder
	root reflect.Value
	// text is the name or string that was read last.
	text []byte
	bad  []Unreadable
	// left is the number of bytes of the object that may still be kept.
	left int
}

// keeps reports whether there is room for the value of p, and records a value that is not kept.
func (d *decoder) keeps(p *projection, bytes int) bool {
	if d.left -= bytes; d.left >= 0 {
		return true
	}
	d.left += bytes
	d.bad = append(d.bad, Unreadable{Field: p.path, Err: fmt.Sprintf("the fields that oooi reads have more than %d KiB together", maxKept>>10)})
	return false
}

// next returns a value that is valid until the next read.
func (d *decoder) next() jsontext.Value {
	value, err := d.in.ReadValue()
	if err != nil {
		panic(fmt.Sprintf("lenient: the API machinery decodes valid JSON only: %v", err))
	}
	return value
}

// enters reads the beginning of an object or a list. It skips a value of another kind, and records that p wants want.
func (d *decoder) enters(p *projection, begin jsontext.Kind, want string) bool {
	if d.in.PeekKind() == begin {
		_, err := d.in.ReadToken()
		return err == nil
	}
	if got := d.next().Kind(); got != jsontext.KindNull {
		d.bad = append(d.bad, Unreadable{Field: p.path, Err: fmt.Sprintf("want %s, not %s", want, nameOf(got))})
	}
	return false
}

// more reports whether another value follows. If not, it reads the end of the object or the list.
func (d *decoder) more(end jsontext.Kind) bool {
	if d.in.PeekKind() != end {
		return true
	}
	_, err := d.in.ReadToken()
	return err != nil
}

func (d *decoder) value(p *projection, into reflect.Value) {
	switch {
	case p.members == nil:
		d.whole(p, into)
	case !p.list:
		d.object(p, into)
	case d.enters(p, jsontext.KindBeginArray, "a list"):
		d.elements(p, into)
	}
}

// elements decodes a list. If it is too large, nothing of it is kept.
func (d *decoder) elements(p *projection, into reflect.Value) {
	left, bad := d.left, len(d.bad)
	into.Set(reflect.MakeSlice(into.Type(), 0, 1))
	for d.more(jsontext.KindEndArray) {
		if into.IsNil() {
			d.next()
			continue
		}
		i, before, found := into.Len(), d.left, len(d.bad)
		if !d.keeps(p, int(into.Type().Elem().Size())) {
			into.SetZero()
			d.left, d.bad = left, append(d.bad[:bad], d.bad[len(d.bad)-1])
			d.next()
			continue
		}
		into.Grow(1)
		into.SetLen(i + 1)
		d.object(p, into.Index(i))
		switch element := into.Index(i).Addr().Interface(); {
		case isNeeded(element) && i < maxRefusals: // Conditions do not use up the room of what users write.
			d.left, d.bad = before, d.bad[:found]
		case isIgnored(element):
			into.Index(i).SetZero()
			into.SetLen(i)
			d.left, d.bad = before, d.bad[:found]
		}
	}
}

// isIgnored reports whether element is an interface that only a guest agent reports, or a condition that oooi does not need.
func isIgnored(element any) bool {
	switch x := element.(type) {
	case *VMInterface:
		return x.Name == ""
	case *VMCondition:
		return true
	case *metav1.Condition:
		return !strings.HasPrefix(x.Type, wire.Prefix)
	case *hyperv1.NodePoolCondition:
		return true
	}
	return false
}

func (d *decoder) object(p *projection, into reflect.Value) {
	if !d.enters(p, jsontext.KindBeginObject, "an object") {
		return
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	for d.more(jsontext.KindEndObject) {
		d.text, _ = jsontext.AppendUnquote(d.text[:0], d.next())
		of := p.members[string(d.text)]
		switch {
		case of == nil:
			d.next()
		case into.Kind() == reflect.Map:
			name, element := reflect.ValueOf(string(d.text)), reflect.New(into.Type().Elem()).Elem()
			d.value(of, element)
			into.Set(reflect.MakeMap(into.Type()))
			into.SetMapIndex(name, element)
		case of.ofRoot:
			d.value(of, d.root.FieldByIndex(of.field))
		case of.field == nil:
			d.value(of, reflect.Value{})
		default:
			d.value(of, into.FieldByIndex(of.field))
		}
	}
}

// whole decodes a value as a whole, because all its fields are read.
func (d *decoder) whole(p *projection, into reflect.Value) {
	if p.path == pathAnnotations {
		d.annotations(p, into)
		return
	}
	value := d.next()
	if into.Kind() == reflect.String && value.Kind() == jsontext.KindString {
		if strings.HasPrefix(p.path, fromGuest) && len(value) > maxFromGuest || !d.keeps(p, len(value)) {
			return
		}
		d.text, _ = jsontext.AppendUnquote(d.text[:0], value)
		into.SetString(string(d.text))
		return
	}
	if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
		into.SetZero()
		d.bad = append(d.bad, Unreadable{Field: p.path, Err: explain(err)})
		return
	}
	size := len(value)
	if x, ok := into.Addr().Interface().(*VMAddresses); ok {
		size = x.cut()
	}
	switch into.Kind() {
	case reflect.Slice:
		size += into.Len() * int(into.Type().Elem().Size())
	case reflect.Map:
		size += into.Len() * ofEntry
	}
	if !d.keeps(p, size) {
		into.SetZero()
	}
}

// maxErr limits Unreadable.Err in bytes, because a library's error may contain the value.
const maxErr = 200

func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		got, _, _ := strings.Cut(wrong.Value, " ")
		return fmt.Sprintf("want %s, not %s", wrong.Type, got)
	}
	text := err.Error()
	return text[:min(len(text), maxErr)]
}

func nameOf(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	}
	return "a boolean"
}
