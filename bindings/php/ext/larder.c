/*
 * The read of a hit as a function of PHP's own, for the package that calls liblarder by FFI.
 *
 * FFI prepares each argument of each call anew, which takes longer than the read itself. So a hit by FFI cannot cost less than
 * twice a hit of APCu. Every other call stays with FFI, and so do all decisions: this class has the place into which
 * a session reads, and calls larder_read().
 *
 * The address of the place goes out to PHP and none comes in. Only code that may use FFI can fill in the place, so this class gives
 * no script more power than it had. Without a session in the place, the library refuses the read.
 */

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dlfcn.h>
#include <string.h>

#include <php.h>
#include <Zend/zend_exceptions.h>

#include <larder.h>

/* The flags of strings, as the package stores them (src/Values.php): bytes, and text. */
#define BYTES 0
#define TEXT 16

typedef struct {
    larder_reader place;
    int32_t (*read)(larder_reader *, const void *, size_t);
    zend_object object;
} reader;

static zend_object_handlers handlers;

static reader *reader_of(zend_object *object)
{
    return (reader *) ((char *) object - XtOffsetOf(reader, object));
}

static zend_object *create(zend_class_entry *class)
{
    reader *self = zend_object_alloc(sizeof(reader), class);
    memset(&self->place, 0, sizeof(self->place));
    zend_object_std_init(&self->object, class);
    object_properties_init(&self->object, class);
    self->object.handlers = &handlers;
    return &self->object;
}

/* FFI has loaded the library before, for all parts of the process to see. No way past this constructor leads to an object. */
PHP_METHOD(Larder_Reader, __construct)
{
    ZEND_PARSE_PARAMETERS_NONE();
    void *found = dlsym(RTLD_DEFAULT, "larder_read");
    if (found == NULL) {
        zend_throw_error(NULL, "liblarder is not loaded; open a store by Larder\\Larder::open()");
        return;
    }
    reader_of(Z_OBJ_P(ZEND_THIS))->read = (int32_t (*)(larder_reader *, const void *, size_t)) found;
}

/* Where the place is, a larder_reader. It ends with the object. */
PHP_METHOD(Larder_Reader, address)
{
    ZEND_PARSE_PARAMETERS_NONE();
    RETURN_LONG((zend_long) (uintptr_t) &reader_of(Z_OBJ_P(ZEND_THIS))->place);
}

/*
 * The value of a hit: a string that is up to date as it is, and every other value as the array that Handles::read() makes of it.
 * Else the code of larder_read().
 *
 * No signal handler of PHP runs between the read and the copy.
 */
PHP_METHOD(Larder_Reader, read)
{
    zend_string *key;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_STR(key)
    ZEND_PARSE_PARAMETERS_END();

    reader *self = reader_of(Z_OBJ_P(ZEND_THIS));
    const larder_reader *place = &self->place;
    int32_t code = self->read(&self->place, ZSTR_VAL(key), ZSTR_LEN(key));
    if (code != LARDER_OK) {
        RETURN_LONG(code);
    }
    const larder_meta *meta = &place->meta;
    if (!meta->stale && (meta->flags == TEXT || meta->flags == BYTES)) {
        RETURN_STRINGL(place->value, place->value_len);
    }
    array_init_size(return_value, 4);
    add_next_index_stringl(return_value, place->value, place->value_len);
    add_next_index_long(return_value, meta->flags);
    add_next_index_long(return_value, (zend_long) meta->version);
    add_next_index_long(return_value, meta->stale);
}

ZEND_BEGIN_ARG_INFO_EX(construct_arguments, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(address_arguments, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(read_arguments, 0, 1, MAY_BE_STRING | MAY_BE_ARRAY | MAY_BE_LONG)
    ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry methods[] = {
    PHP_ME(Larder_Reader, __construct, construct_arguments, ZEND_ACC_PUBLIC)
    PHP_ME(Larder_Reader, address, address_arguments, ZEND_ACC_PUBLIC)
    PHP_ME(Larder_Reader, read, read_arguments, ZEND_ACC_PUBLIC)
    PHP_FE_END
};

PHP_MINIT_FUNCTION(larder)
{
    zend_class_entry entry;
    INIT_NS_CLASS_ENTRY(entry, "Larder", "Reader", methods);
    zend_class_entry *class = zend_register_internal_class(&entry);
    class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NOT_SERIALIZABLE | ZEND_ACC_NO_DYNAMIC_PROPERTIES;
    class->create_object = create;
    memcpy(&handlers, &std_object_handlers, sizeof(handlers));
    handlers.offset = XtOffsetOf(reader, object);
    /* A copy would have the session of the other one after its end. */
    handlers.clone_obj = NULL;
    return SUCCESS;
}

/* The library has the version: Larder\Larder::version() tells it. */
zend_module_entry larder_module_entry = {
    STANDARD_MODULE_HEADER, "larder", NULL, PHP_MINIT(larder), NULL, NULL, NULL, NULL, NO_VERSION_YET, STANDARD_MODULE_PROPERTIES,
};

#ifdef COMPILE_DL_LARDER
ZEND_GET_MODULE(larder)
#endif
