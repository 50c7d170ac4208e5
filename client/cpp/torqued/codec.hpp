// Between bytes and messages: msgpack maps with arrays as extension type 1. No sockets here.
#pragma once

#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST  // msgpack needs nothing of it
#endif
#include <msgpack.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace torqued {

constexpr int protocol_version = 1;

/// Numbers with a shape, row by row.
struct Array {
    std::vector<std::size_t> shape;
    std::vector<double> values;

    Array() = default;
    Array(std::vector<double> numbers) : shape{numbers.size()}, values(std::move(numbers)) {}
    Array(std::vector<std::size_t> dimensions, std::vector<double> numbers)
        : shape(std::move(dimensions)), values(std::move(numbers)) {
        std::size_t count = 1;
        for (std::size_t length : shape) count *= length;
        if (count != values.size()) throw InputError("an array's shape does not fit its numbers");
    }
    Array(const double* numbers, std::size_t size)
        : shape{size}, values(numbers, numbers + size) {}

    std::size_t size() const { return values.size(); }
    double operator[](std::size_t k) const { return values[k]; }
    double operator()(std::size_t i, std::size_t j) const { return values[i * shape.at(1) + j]; }
};

namespace detail {

constexpr std::int8_t array_type = 1;

inline std::size_t numbers_start(std::size_t dimensions) { return (4 + 4 * dimensions + 7) / 8 * 8; }

inline void put_u32(char* place, std::uint32_t value) {
    for (int k = 0; k < 4; ++k) place[k] = static_cast<char>(value >> (8 * k));
}

inline std::uint32_t get_u32(const char* place) {
    std::uint32_t value = 0;
    for (int k = 0; k < 4; ++k)
        value |= static_cast<std::uint32_t>(static_cast<unsigned char>(place[k])) << (8 * k);
    return value;
}

template <typename Packer>
void pack_array(Packer& packer, const Array& array) {
    const std::size_t start = numbers_start(array.shape.size());
    std::string data(start + 8 * array.values.size(), '\0');
    data[0] = 'd';
    data[1] = static_cast<char>(array.shape.size());
    for (std::size_t k = 0; k < array.shape.size(); ++k)
        put_u32(&data[4 + 4 * k], static_cast<std::uint32_t>(array.shape[k]));
    if (!array.values.empty())
        std::memcpy(&data[start], array.values.data(), 8 * array.values.size());
    packer.pack_ext(data.size(), array_type);
    packer.pack_ext_body(data.data(), static_cast<std::uint32_t>(data.size()));
}

template <typename Number>
void append_numbers(const char* data, std::size_t count, std::vector<double>& out) {
    for (std::size_t k = 0; k < count; ++k) {
        Number number;
        std::memcpy(&number, data + k * sizeof(Number), sizeof(Number));
        out.push_back(static_cast<double>(number));
    }
}

}  // namespace detail

/// An array of a reply; a single number is an array without dimensions.
inline Array to_array(const msgpack::object& object) {
    if (object.type == msgpack::type::FLOAT64 || object.type == msgpack::type::FLOAT32 ||
        object.type == msgpack::type::POSITIVE_INTEGER ||
        object.type == msgpack::type::NEGATIVE_INTEGER)
        return Array(std::vector<std::size_t>{}, {object.as<double>()});
    if (object.type != msgpack::type::EXT || object.via.ext.type() != detail::array_type ||
        object.via.ext.size < 4)
        throw MessageError("bad_message", "a reply has no array where one was expected", "", "");
    const char* data = object.via.ext.data();
    const std::size_t bytes = object.via.ext.size;
    const std::size_t dimensions = static_cast<unsigned char>(data[1]);
    const std::size_t start = detail::numbers_start(dimensions);
    const std::size_t width = data[0] == 'f' ? 4 : 8;
    Array array;
    std::size_t count = 1;
    for (std::size_t k = 0; k < dimensions && start <= bytes; ++k) {
        array.shape.push_back(detail::get_u32(data + 4 + 4 * k));
        count *= array.shape.back();
    }
    if (start > bytes || count * width != bytes - start)
        throw MessageError("bad_message", "an array of a reply has another size than its shape",
                           "", "");
    array.values.reserve(count);
    if (data[0] == 'd') detail::append_numbers<double>(data + start, count, array.values);
    else if (data[0] == 'f') detail::append_numbers<float>(data + start, count, array.values);
    else if (data[0] == 'q') detail::append_numbers<std::int64_t>(data + start, count, array.values);
    else throw MessageError("bad_message", "an array of a reply has an unknown type", "", "");
    return array;
}

class Fields;

/// What a field of a request can be.
class Value {
public:
    Value(const char* text) { packer().pack(std::string(text)); }
    Value(const std::string& text) { packer().pack(text); }
    Value(bool truth) { packer().pack(truth); }
    Value(int number) { packer().pack(number); }
    Value(std::int64_t number) { packer().pack(number); }
    Value(double number) { packer().pack(number); }
    Value(const Array& array) {
        auto to = packer();
        detail::pack_array(to, array);
    }
    Value(const std::vector<double>& numbers) : Value(Array(numbers)) {}
    Value(const std::vector<std::string>& texts) { packer().pack(texts); }
    inline Value(const Fields& map);

    const msgpack::sbuffer& bytes() const { return buffer_; }

private:
    msgpack::packer<msgpack::sbuffer> packer() {
        return msgpack::packer<msgpack::sbuffer>(buffer_);
    }
    msgpack::sbuffer buffer_;
};

/// Fields of a request, by name: {{"law", "gravity"}, {"gains", Fields{{"damping", 2.0}}}}.
class Fields {
public:
    struct Field {
        template <typename T>
        Field(std::string name_, T&& given) : name(std::move(name_)) {
            const Value value(std::forward<T>(given));
            bytes.assign(value.bytes().data(), value.bytes().size());
        }
        std::string name;
        std::string bytes;
    };

    Fields() = default;
    Fields(std::initializer_list<Field> fields) : fields_(fields) {}

    template <typename T>
    Fields& set(const std::string& name, T&& value) {
        fields_.emplace_back(name, std::forward<T>(value));
        return *this;
    }

    std::size_t size() const { return fields_.size(); }

    /// Names and values one after the other, without the byte that says how many.
    template <typename Stream>
    void write(Stream& stream) const {
        msgpack::packer<Stream> packer(stream);
        for (const Field& field : fields_) {
            packer.pack(field.name);
            stream.write(field.bytes.data(), field.bytes.size());
        }
    }

private:
    std::vector<Field> fields_;
};

inline Value::Value(const Fields& map) {
    packer().pack_map(static_cast<std::uint32_t>(map.size()));
    map.write(buffer_);
}

/// A whole request.
inline msgpack::sbuffer encode_request(std::int64_t identity, const std::string& operation,
                                       const Fields& fields) {
    msgpack::sbuffer buffer;
    msgpack::packer<msgpack::sbuffer> packer(buffer);
    packer.pack_map(static_cast<std::uint32_t>(3 + fields.size()));
    packer.pack(std::string("protocol"));
    packer.pack(protocol_version);
    packer.pack(std::string("id"));
    packer.pack(identity);
    packer.pack(std::string("op"));
    packer.pack(operation);
    fields.write(buffer);
    return buffer;
}

/// A map of a reply, and what it holds by name.
class Map {
public:
    explicit Map(const msgpack::object& object) : object_(object) {
        if (object.type != msgpack::type::MAP)
            throw MessageError("bad_message", "a reply has no map where one was expected", "", "");
    }

    const msgpack::object* find(const std::string& name) const {
        for (std::uint32_t k = 0; k < object_.via.map.size; ++k) {
            const auto& member = object_.via.map.ptr[k];
            if (member.key.type == msgpack::type::STR && member.key.via.str.size == name.size() &&
                std::memcmp(member.key.via.str.ptr, name.data(), name.size()) == 0)
                return &member.val;
        }
        return nullptr;
    }

    const msgpack::object& at(const std::string& name) const {
        if (const msgpack::object* found = find(name)) return *found;
        throw MessageError("bad_message", "a reply has no field '" + name + "'", name, "present");
    }

    std::string text(const std::string& name) const { return as<std::string>(name); }
    double number(const std::string& name) const { return as<double>(name); }
    std::int64_t integer(const std::string& name) const { return as<std::int64_t>(name); }
    bool truth(const std::string& name) const { return as<bool>(name); }
    std::vector<std::string> texts(const std::string& name) const {
        return as<std::vector<std::string>>(name);
    }
    Array array(const std::string& name) const { return to_array(at(name)); }
    Map map(const std::string& name) const { return Map(at(name)); }
    std::vector<msgpack::object> list(const std::string& name) const {
        const msgpack::object& found = at(name);
        if (found.type != msgpack::type::ARRAY)
            throw MessageError("bad_message", "field '" + name + "' of a reply is not a list", name, "");
        return {found.via.array.ptr, found.via.array.ptr + found.via.array.size};
    }
    std::string text_or(const std::string& name, const std::string& otherwise) const {
        const msgpack::object* found = find(name);
        return found && found->type == msgpack::type::STR ? found->as<std::string>() : otherwise;
    }

    const msgpack::object& object() const { return object_; }

private:
    template <typename T>
    T as(const std::string& name) const {
        try {
            return at(name).as<T>();
        } catch (const msgpack::type_error&) {
            throw MessageError("bad_message", "field '" + name + "' of a reply has another type",
                               name, "");
        }
    }

    msgpack::object object_;
};

/// A reply and the memory of all that it holds.
class Reply : public Map {
public:
    explicit Reply(msgpack::object_handle handle)
        : Map(handle.get()), handle_(std::move(handle)) {}

private:
    msgpack::object_handle handle_;
};

inline Reply decode_reply(const char* data, std::size_t size) {
    try {
        return Reply(msgpack::unpack(data, size));
    } catch (const msgpack::unpack_error& problem) {
        throw MessageError("bad_message", std::string("not a msgpack message: ") + problem.what(),
                           "", "");
    }
}

}  // namespace torqued
