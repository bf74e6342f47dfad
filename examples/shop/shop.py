"""A small shop in Django: one page a product, made by a query and kept in a memcached.

    python shop.py fill                     make the database
    CACHE=127.0.0.1:11211 gunicorn shop     serve the pages of /product/NUMBER

docs/advise.md walks through it. The query counts what buyers of a product bought too. It reads thousands of rows, as the
queries that people put a cache before do.
"""

import os
import random
import sys
from pathlib import Path

from django.conf import settings

settings.configure(
    SECRET_KEY="of an example, which has no sessions",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("SHOP", "shop.db"),
        }
    },
    CACHES={
        "default": {
            "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
            "LOCATION": os.environ.get("CACHE", "127.0.0.1:11211"),
            "TIMEOUT": 3600,
        }
    },
)

import django
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from django.db import connection, transaction
from django.http import Http404, HttpResponse
from django.urls import path

PRODUCTS = 20_000
ORDERS = 60_000
LINES_AN_ORDER = 5

TABLES = """
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, text TEXT);
CREATE TABLE line (bought INTEGER, product INTEGER);
"""

INDEXES = """
CREATE INDEX line_product ON line (product);
CREATE INDEX line_bought ON line (bought);
"""

BOUGHT_TOO = """
SELECT p.id, p.name, count(*) AS times
FROM line AS own JOIN line AS other USING (bought) JOIN product AS p ON p.id = other.product
WHERE own.product = %s AND other.product <> own.product
GROUP BY p.id ORDER BY times DESC, p.id LIMIT 20
"""


def fill():
    """Makes the database anew, the same each time."""
    draw = random.Random(1)
    Path(settings.DATABASES["default"]["NAME"]).unlink(missing_ok=True)
    words = ["".join(draw.choices("aeioubcdfghklmnprst", k=7)) for _ in range(1000)]
    products = [
        (number, draw.choice(words), " ".join(draw.choices(words, k=draw.randint(20, 600))))
        for number in range(PRODUCTS)
    ]
    # Popular products are bought by many.
    popular = lambda: min(int(draw.paretovariate(0.6)) - 1, PRODUCTS - 1)
    lines = [(order, popular()) for order in range(ORDERS) for _ in range(LINES_AN_ORDER)]
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in TABLES.split(";"):
            cursor.execute(statement)
        cursor.executemany("INSERT INTO product VALUES (%s, %s, %s)", products)
        cursor.executemany("INSERT INTO line VALUES (%s, %s)", lines)
        for statement in INDEXES.split(";"):
            cursor.execute(statement)


def page(number):
    """The page of a product, made by queries; `None` where there is no such product."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, text FROM product WHERE id = %s", [number])
        product = cursor.fetchone()
        if product is None:
            return None
        cursor.execute(BOUGHT_TOO, [number])
        too = cursor.fetchall()
    name, text = product
    links = "".join(f'<li><a href="/product/{other}">{title}</a>' for other, title, _ in too)
    return f"<!doctype html><title>{name}</title><h1>{name}</h1><p>{text}<ul>{links}</ul>"


def product(_request, number):
    key = f"product:{number}"
    text = cache.get(key)
    found = "hit" if text is not None else "miss"
    if text is None:
        text = page(number)
        if text is None:
            raise Http404
        cache.set(key, text)
    return HttpResponse(text, headers={"X-Cache": found})


urlpatterns = [path("product/<int:number>", product)]
django.setup()
application = get_wsgi_application()

if __name__ == "__main__":
    if sys.argv[1:] != ["fill"]:
        sys.exit("usage: python shop.py fill; then serve it: gunicorn shop")
    fill()
