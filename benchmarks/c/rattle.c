/* RATTLE by hand, as one would write it for one problem: the yardstick of the benchmarks.

   rattle pendulum STEPS H REPEATS      a point mass on a rod in the plane, q and v (2 numbers each) on stdin
   rattle chain    STEPS H REPEATS      LINKS point masses on rigid links in space, 3 LINKS numbers each

   Masses and lengths are one. With f = gravity, G = g_q, d_i = r_i - r_(i-1), L = h^2/2 lam:

       q1 = q0 + h v0 + h^2/2 f - G(q0)^T L,    g(q1) = 0          Newton in L, matrix G(q1) G(q0)^T
       v1 = (q1 - q0) / h + h/2 f - G(q1)^T K,  G(q1) v1 = 0       linear in K, matrix G(q1) G(q1)^T

   Both matrices of a chain are tridiagonal. Newton starts from multipliers extrapolated through four steps
   and stops after an update below 1e-8, whose square is below roundoff. Plain sums: no compensation. Prints
   the nanoseconds a step takes (best repeat), the Newton iterations a step, and the last position. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef LINKS
#define LINKS 2
#endif

#define GRAVITY 9.81
#define LAST_UPDATE 1e-8
#define MOST_ITERATIONS 50

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* the value that continues a cubic through four values, the newest first */
static double extrapolated(double a, double b, double c, double d)
{
    return 4.0 * (a + c) - 6.0 * b - d;
}

static long pendulum(double q[2], double v[2], long steps, double h)
{
    double x = q[0], y = q[1], u = v[0], w = v[1];
    const double inverse_h = 1.0 / h;
    double past[4] = {0};
    long iterations = 0;
    for (long k = 0; k < steps; k++) {
        const double free_x = x + h * u, free_y = y + h * w - 0.5 * h * h * GRAVITY;
        double L = extrapolated(past[0], past[1], past[2], past[3]), x1, y1;
        for (int i = 0; i < MOST_ITERATIONS; i++) {
            x1 = free_x - L * x;
            y1 = free_y - L * y;
            const double update = 0.5 * (x1 * x1 + y1 * y1 - 1.0) / (x1 * x + y1 * y);
            L += update;
            iterations++;
            if (fabs(update) < LAST_UPDATE)
                break;
        }
        x1 = free_x - L * x;
        y1 = free_y - L * y;
        const double half_u = (x1 - x) * inverse_h, half_w = (y1 - y) * inverse_h - 0.5 * h * GRAVITY;
        const double K = (x1 * half_u + y1 * half_w) / (x1 * x1 + y1 * y1);
        u = half_u - K * x1;
        w = half_w - K * y1;
        x = x1;
        y = y1;
        past[3] = k ? past[2] : L;
        past[2] = k ? past[1] : L;
        past[1] = k ? past[0] : L;
        past[0] = L;
    }
    q[0] = x, q[1] = y, v[0] = u, v[1] = w;
    return iterations;
}

/* d_i of all links */
static void links_of(double (*restrict q)[3], double (*restrict d)[3])
{
    for (int j = 0; j < 3; j++)
        d[0][j] = q[0][j];
    for (int i = 1; i < LINKS; i++)
        for (int j = 0; j < 3; j++)
            d[i][j] = q[i][j] - q[i - 1][j];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Solve (G(a) G(b)^T) x = x in place, where a and b are the links of two configurations. */
static void solve(double (*a)[3], double (*b)[3], double *restrict x)
{
    double above[LINKS], inverse = 1.0 / dot(a[0], b[0]);
    x[0] *= inverse;
    for (int i = 1; i < LINKS; i++) {
        above[i - 1] = -dot(a[i - 1], b[i]) * inverse;
        const double below = -dot(a[i], b[i - 1]);
        inverse = 1.0 / (2.0 * dot(a[i], b[i]) - below * above[i - 1]);
        x[i] = (x[i] - below * x[i - 1]) * inverse;
    }
    for (int i = LINKS - 2; i >= 0; i--)
        x[i] -= above[i] * x[i + 1];
}

/* y = x - G(d)^T m */
static void subtract(double (*restrict x)[3], double (*restrict d)[3], const double *restrict m,
                     double (*restrict y)[3])
{
    for (int i = 0; i < LINKS; i++)
        for (int j = 0; j < 3; j++)
            y[i][j] = x[i][j] - m[i] * d[i][j] + (i + 1 < LINKS ? m[i + 1] * d[i + 1][j] : 0.0);
}

static long chain(double (*restrict q)[3], double (*restrict v)[3], long steps, double h)
{
    const double inverse_h = 1.0 / h;
    double past[4][LINKS] = {{0}}, L[LINKS], g[LINKS];
    double free_q[LINKS][3], q1[LINKS][3], half[LINKS][3], d0[LINKS][3], d1[LINKS][3];
    long iterations = 0;
    links_of(q, d0);
    for (long k = 0; k < steps; k++) {
        for (int i = 0; i < LINKS; i++) {
            for (int j = 0; j < 3; j++)
                free_q[i][j] = q[i][j] + h * v[i][j];
            free_q[i][2] -= 0.5 * h * h * GRAVITY;
            L[i] = extrapolated(past[0][i], past[1][i], past[2][i], past[3][i]);
        }
        for (int n = 0; n < MOST_ITERATIONS; n++) {
            subtract(free_q, d0, L, q1);
            links_of(q1, d1);
            for (int i = 0; i < LINKS; i++)
                g[i] = 0.5 * (dot(d1[i], d1[i]) - 1.0);
            solve(d1, d0, g);
            double update = 0.0;
            for (int i = 0; i < LINKS; i++) {
                L[i] += g[i];
                update = fmax(update, fabs(g[i]));
            }
            iterations++;
            if (update < LAST_UPDATE)
                break;
        }
        subtract(free_q, d0, L, q1);
        links_of(q1, d1);
        for (int i = 0; i < LINKS; i++) {
            for (int j = 0; j < 3; j++)
                half[i][j] = (q1[i][j] - q[i][j]) * inverse_h;
            half[i][2] -= 0.5 * h * GRAVITY;
        }
        g[0] = dot(d1[0], half[0]);
        for (int i = 1; i < LINKS; i++)
            g[i] = dot(d1[i], half[i]) - dot(d1[i], half[i - 1]);
        solve(d1, d1, g);
        subtract(half, d1, g, v);
        memcpy(q, q1, sizeof q1);
        memcpy(d0, d1, sizeof d1);
        for (int age = 3; age > 0; age--)
            memcpy(past[age], k ? past[age - 1] : L, sizeof L);
        memcpy(past[0], L, sizeof L);
    }
    return iterations;
}

int main(int count, char **arguments)
{
    if (count != 5) {
        fprintf(stderr, "usage: rattle pendulum|chain STEPS H REPEATS\n");
        return 2;
    }
    const int is_chain = strcmp(arguments[1], "chain") == 0, n = is_chain ? 3 * LINKS : 2;
    const long steps = atol(arguments[2]);
    const double h = atof(arguments[3]);
    double q0[3 * LINKS + 2], v0[3 * LINKS + 2], q[LINKS + 1][3], v[LINKS + 1][3];
    for (int i = 0; i < 2 * n; i++)
        if (scanf("%lf", i < n ? &q0[i] : &v0[i - n]) != 1) {
            fprintf(stderr, "expected %d numbers on stdin\n", 2 * n);
            return 2;
        }
    double best = INFINITY;
    long iterations = 0;
    for (int repeat = atoi(arguments[4]); repeat > 0; repeat--) {
        memcpy(q, q0, sizeof(double) * (size_t)n);
        memcpy(v, v0, sizeof(double) * (size_t)n);
        const double begun = seconds();
        iterations = is_chain ? chain(q, v, steps, h) : pendulum(q[0], v[0], steps, h);
        best = fmin(best, seconds() - begun);
    }
    printf("%.6g %.6g", 1e9 * best / (double)steps, (double)iterations / (double)steps);
    for (int i = 0; i < n; i++)
        printf(" %.17g", q[0][i]);
    printf("\n");
    return 0;
}
