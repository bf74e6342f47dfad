<?php

/*
 * For `opcache.preload` of a web server. PHP's default, `ffi.enable=preload`, allows FFI to preloaded code alone, so this
 * script loads the library and the classes that call it.
 *
 * Where `opcache.preload_user` is set, PHP refuses to load a library here: `ffi.preload` names src/larder.h then.
 */

declare(strict_types=1);

namespace Larder;

foreach (['Error', 'UsageError', 'UnavailableError', 'UnsupportedError', 'RefusedError', 'Serializer'] as $first) {
    require_once __DIR__ . "/src/$first.php";
}
foreach (glob(__DIR__ . '/src/*.php') as $file) {
    require_once $file;
}
Library::preload();
