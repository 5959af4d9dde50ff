// This file decodes the fields of a projection, each alone: one that cannot be decoded stays empty, and
// prevents the decoding of no other.

package lenient

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// decode decodes the fields of the JSON value b that p has into out, a pointer to a struct.
func decode(p *projection, b []byte, out any) []Unreadable {
	d := decoder{root: reflect.ValueOf(out).Elem()}
	d.object(p, b, d.root)
	slices.SortFunc(d.bad, func(a, b Unreadable) int { return strings.Compare(a.Field, b.Field) })
	return slices.Compact(d.bad)
}

// A decoder decodes one object.
type decoder struct {
	root reflect.Value
	bad  []Unreadable
}

// refuse notes that value is of another type than want.
func (d *decoder) refuse(p *projection, want string, value []byte) {
	if string(value) != "null" {
		d.bad = append(d.bad, Unreadable{Field: p.path, Err: fmt.Sprintf("want %s, not %s", want, typeOf(value))})
	}
}

func (d *decoder) value(p *projection, value []byte, into reflect.Value) {
	switch {
	case p.members == nil:
		d.whole(p, value, into)
	case !p.list:
		d.object(p, value, into)
	case value[0] != '[':
		d.refuse(p, "a list", value)
	default:
		var all [][]byte
		elements(value, func(element []byte) { all = append(all, element) })
		into.Set(reflect.MakeSlice(into.Type(), len(all), len(all)))
		for i, element := range all {
			d.object(p, element, into.Index(i))
		}
	}
}

// object decodes the members of an object, or of an element of a list.
func (d *decoder) object(p *projection, value []byte, into reflect.Value) {
	if value[0] != '{' {
		d.refuse(p, "an object", value)
		return
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	members(value, func(name, member []byte) {
		of := p.members[string(name)]
		switch {
		case of == nil:
		case into.Kind() == reflect.Map:
			element := reflect.New(into.Type().Elem()).Elem()
			d.value(of, member, element)
			into.Set(reflect.MakeMap(into.Type()))
			into.SetMapIndex(reflect.ValueOf(string(name)), element)
		case of.ofRoot:
			d.value(of, member, d.root.FieldByIndex(of.field))
		case of.field == nil:
			d.value(of, member, reflect.Value{})
		default:
			d.value(of, member, into.FieldByIndex(of.field))
		}
	})
}

// whole decodes a value of which all is read.
func (d *decoder) whole(p *projection, value []byte, into reflect.Value) {
	if into.Kind() == reflect.String && value[0] == '"' {
		into.SetString(string(textOf(value)))
		return
	}
	if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
		into.SetZero()
		d.bad = append(d.bad, Unreadable{Field: p.path, Err: explain(err)})
	}
}

// maxErr limits Unreadable.Err in bytes: a library's error may contain the value.
const maxErr = 200

// explain returns what is wrong with a value.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		got, _, _ := strings.Cut(wrong.Value, " ")
		return fmt.Sprintf("want %s, not %s", wrong.Type, got)
	}
	text := err.Error()
	return text[:min(len(text), maxErr)]
}

// typeOf names the type of a JSON value.
func typeOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
