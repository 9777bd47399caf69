// Checks that JSON has the shape that its type promises. Each check is a function that returns what is wrong with a value,
// such as `.jobs[0].ranks: not a number`, or undefined if the value has the type T.

export interface Check<T> {
  (value: unknown): string | undefined;
  /** Never set: it makes checks of different types different to TypeScript. */
  readonly checked?: T;
}

const ofType =
  <T>(type: string): Check<T> =>
  (value) =>
    typeof value === type ? undefined : `: not a ${type}`;

export const string: Check<string> = ofType("string");
export const number: Check<number> = ofType("number");
export const boolean: Check<boolean> = ofType("boolean");
export const unknown: Check<unknown> = () => undefined;

/** One of the strings given. */
export const oneOf =
  <T extends string>(...values: T[]): Check<T> =>
  (value) =>
    (values as unknown[]).includes(value) ? undefined : `: not one of ${values.join(", ")}`;

export const nullable =
  <T>(check: Check<T>): Check<T | null> =>
  (value) =>
    value === null ? undefined : check(value);

/** A property that may be absent. */
export const optional =
  <T>(check: Check<T>): Check<T> =>
  (value) =>
    value === undefined ? undefined : check(value);

export const array =
  <T>(check: Check<T>): Check<T[]> =>
  (value) => {
    if (!Array.isArray(value)) return ": not an array";
    for (let index = 0; index < value.length; index++) {
      const wrong = check(value[index]);
      if (wrong !== undefined) return `[${index}]${wrong}`;
    }
    return undefined;
  };

/** A value that either of two checks accepts. */
export const either =
  <A, B>(a: Check<A>, b: Check<B>): Check<A | B> =>
  (value) =>
    a(value) === undefined ? undefined : b(value);

/** An array of exactly two. */
export const pair =
  <T>(check: Check<T>): Check<[T, T]> =>
  (value) => {
    if (!Array.isArray(value) || value.length !== 2) return ": not an array of two";
    return check(value[0]) ?? check(value[1]);
  };

/** An object whose keys are data. */
export const record =
  <T>(check: Check<T>): Check<Record<string, T>> =>
  (value) => {
    if (!isObject(value)) return ": not an object";
    for (const key in value) {
      const wrong = check(value[key]);
      if (wrong !== undefined) return `.${key}${wrong}`;
    }
    return undefined;
  };

/** An object with these properties; others are ignored. */
export const object = <T extends object>(properties: { [K in keyof T]-?: Check<T[K]> }): Check<T> => {
  const checks = Object.entries<Check<unknown>>(properties);
  return (value) => {
    if (!isObject(value)) return ": not an object";
    for (const [key, check] of checks) {
      const wrong = check(value[key]);
      if (wrong !== undefined) return `.${key}${wrong}`;
    }
    return undefined;
  };
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a value as a T; throws an error that names the first part that is wrong. */
export function checked<T>(check: Check<T>, value: unknown): T {
  const wrong = check(value);
  if (wrong !== undefined) throw new Error(`unexpected data: value${wrong}`);
  // The one place where data from outside gets its type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return value as T;
}

/** Parses JSON as a T. */
export function parse<T>(check: Check<T>, json: string): T {
  return checked(check, JSON.parse(json));
}
